#include "ops/adamw.h"

#include <vector>

#include "base/narrow.h"
#include "ops/adamw_constants.h"

namespace saddle::ops {

backend::Tensor<int32_t> adamw_pieces(Context& context, std::span<const AdamWSegment> segments) {
  constexpr int64_t kAlignment = tensor::Layout::kAlignment;
  static_assert(kAdamWPiece % kAlignment == 0);
  std::vector<int32_t> host;
  for (const AdamWSegment& segment : segments) {
    check_shape(segment.offset % kAlignment == 0, "adamw_pieces", "a segment");
    for (int64_t first = 0; first < segment.size; first += kAdamWPiece) {
      host.push_back(narrow<int32_t>((segment.offset + first) / kAlignment));
      host.push_back(narrow<int32_t>(std::min(kAdamWPiece, segment.size - first)));
      host.push_back(segment.decays ? 1 : 0);
    }
  }
  backend::Tensor<int32_t> pieces(context, 1, static_cast<int64_t>(host.size()) / 3, 3);
  backend::copy_from_host<int32_t>(context, host.data(), 0, pieces);
  return pieces;
}

template <class T>
void adamw_update(Context& context, AdamWStep step, View<const int32_t> pieces, AdamWInput input,
                  View<const T> gradients, View<T> weights, View<T> first_moments,
                  View<T> second_moments) {
  const AdamWArenas<T> at{gradients, weights, first_moments, second_moments};
  check_adamw(pieces, input, at);
  for_rows(
      context,
      {"adamw", weights.workers(), pieces.rows(), kAdamWPiece, 7 * kAdamWPiece * bytes_of<T>()},
      AdamWRow<T>{adamw_constants<T>(step), pieces, input.scales, input.commit, at});
}

template decltype(adamw_update<float>) adamw_update<float>;
template decltype(adamw_update<double>) adamw_update<double>;

}  // namespace saddle::ops
