// AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2):
//
//   g = scale dw      m = beta1 m + (1 - beta1) g      v = beta2 v + (1 - beta2) g^2
//   w = (1 - lr decay) w - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
//
// Weights w, gradients dw and moments m, v are arenas of one layout, [N, 1, D_padded].
// Cost: 16 operations and 7 moves per parameter.
#pragma once

#include <span>
#include <vector>

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

// Numbers [offset, offset + size) of every worker, which decay or not.
struct AdamWSegment {
  int64_t offset = 0;
  int64_t size = 0;
  bool decays = false;
};

// Updates w, m and v over the segments; the padding between them is left unchanged.
// scales[n] multiplies the gradient of worker n (clipping).
template <class T>
void adamw_update(Context& context, AdamWStep step, std::span<const AdamWSegment> segments,
                  std::span<const double> scales, View<const T> gradients, View<T> weights,
                  View<T> first_moments, View<T> second_moments);

}  // namespace saddle::ops
