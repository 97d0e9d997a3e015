#include "ops/adamw.h"

#include <algorithm>

#include "ops/adamw_row.h"

namespace saddle::ops {

template <class T>
void adamw_update(Context& context, AdamWStep step, std::span<const AdamWSegment> segments,
                  std::span<const double> scales, View<const T> gradients, View<T> weights,
                  View<T> first_moments, View<T> second_moments) {
  const AdamWConstants<T> constants(step);
  constexpr int64_t kPiece = 16384;
  for (int64_t n = 0; n < weights.workers(); ++n) {
    const auto scale = static_cast<T>(scales[n]);
    const T* g = gradients.row(n, 0).data;
    T* w = weights.row(n, 0).data;
    T* m = first_moments.row(n, 0).data;
    T* v = second_moments.row(n, 0).data;
    for (const AdamWSegment& segment : segments) {
      const T keep = constants.keep(segment);
      backend::parallel_for(context, (segment.size + kPiece - 1) / kPiece, [&](int64_t piece) {
        const int64_t first = segment.offset + piece * kPiece;
        const int64_t count = std::min(segment.offset + segment.size - first, kPiece);
        adamw_row<T>(constants, keep, scale, count, g + first, w + first, w + first, m + first,
                     v + first);
      });
    }
  }
}

#define SADDLE_INSTANTIATE(T)                                                             \
  template void adamw_update<T>(Context&, AdamWStep, std::span<const AdamWSegment>,       \
                                std::span<const double>, View<const T>, View<T>, View<T>, \
                                View<T>);
SADDLE_INSTANTIATE(float)
SADDLE_INSTANTIATE(double)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
