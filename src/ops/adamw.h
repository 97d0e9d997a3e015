// AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2):
//
//   g = scale dw      m = beta1 m + (1 - beta1) g      v = beta2 v + (1 - beta2) g^2
//   w = (1 - lr decay) w - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
//
// Weights w, gradients dw and moments m, v are arenas of one layout, [N, 1, D_padded].
// Cost: 16 operations and 7 moves per parameter.
#pragma once

#include <span>

#include "ops/common.h"

namespace saddle::ops {

struct AdamWStep {
  double lr = 0;
  double beta1 = 0;
  double beta2 = 0;
  double eps = 0;
  double weight_decay = 0;
  int64_t step = 0;  // t, from 1
};

// Numbers [offset, offset + size) of every worker, which decay or not. The offset is a multiple of
// tensor::Layout::kAlignment.
struct AdamWSegment {
  int64_t offset = 0;
  int64_t size = 0;
  bool decays = false;
};

// Segments as pieces of at most kAdamWPiece numbers in device memory: [1, P, 3], each with its
// offset in units of the alignment, its size, and 1 if it decays.
inline constexpr int64_t kAdamWPiece = 16384;
backend::Tensor<int32_t> adamw_pieces(Context& context, std::span<const AdamWSegment> segments);

// The gradients of an update: what multiplies each worker's (clipping), and whether the update may
// happen. Both stay on the device, so that nobody waits for them.
struct AdamWInput {
  View<const double> scales;  // [N, 1, 1]
  View<const double> commit;  // [1, 1, 1]: with 0, nothing changes; empty: as with 1
};

// Updates w, m and v over the pieces; the padding between them is left unchanged.
template <class T>
void adamw_update(Context& context, AdamWStep step, View<const int32_t> pieces, AdamWInput input,
                  View<const T> gradients, View<T> weights, View<T> first_moments,
                  View<T> second_moments);

}  // namespace saddle::ops
