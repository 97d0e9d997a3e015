#include "ops/adamw.h"

#include <cmath>

namespace saddle::ops {

template <class T>
void adamw_update(Context& context, AdamWStep step, std::span<const AdamWSegment> segments,
                  std::span<const double> scales, View<const T> gradients, View<T> weights,
                  View<T> first_moments, View<T> second_moments) {
  const double correction1 = 1.0 - std::pow(step.beta1, static_cast<double>(step.step));
  const double correction2 = 1.0 - std::pow(step.beta2, static_cast<double>(step.step));
  const auto beta1 = static_cast<T>(step.beta1);
  const auto rest1 = static_cast<T>(1.0 - step.beta1);
  const auto beta2 = static_cast<T>(step.beta2);
  const auto rest2 = static_cast<T>(1.0 - step.beta2);
  const auto rate = static_cast<T>(step.lr / correction1);
  const auto root = static_cast<T>(1.0 / std::sqrt(correction2));
  const auto eps = static_cast<T>(step.eps);

  constexpr int64_t kPiece = 16384;
  for (int64_t n = 0; n < weights.workers(); ++n) {
    const auto scale = static_cast<T>(scales[n]);
    const T* g_all = gradients.row(n, 0).data;
    T* w_all = weights.row(n, 0).data;
    T* m_all = first_moments.row(n, 0).data;
    T* v_all = second_moments.row(n, 0).data;
    for (const AdamWSegment& segment : segments) {
      const auto keep = static_cast<T>(segment.decays ? 1.0 - step.lr * step.weight_decay : 1.0);
      backend::parallel_for(context, (segment.size + kPiece - 1) / kPiece, [&](int64_t piece) {
        const int64_t first = segment.offset + piece * kPiece;
        const int64_t end = std::min(segment.offset + segment.size, first + kPiece);
        SADDLE_INDEPENDENT
        for (int64_t i = first; i < end; ++i) {
          const T g = g_all[i] * scale;
          const T m = m_all[i] * beta1 + g * rest1;
          const T v = v_all[i] * beta2 + g * g * rest2;
          m_all[i] = m;
          v_all[i] = v;
          w_all[i] = w_all[i] * keep - rate * m / (std::sqrt(v) * root + eps);
        }
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
