// What the updates with and without mixing share. Internal to ops/adamw.h and ops/mixing.h.
#pragma once

#include <cmath>

#include "ops/adamw.h"
#include "ops/adamw_rows.h"

namespace saddle::ops {

template <class T>
AdamWConstants<T> adamw_constants(const AdamWStep& step) {
  const auto correction = [&](double beta) {
    return 1.0 - std::pow(beta, static_cast<double>(step.step));
  };
  return {.beta1 = static_cast<T>(step.beta1),
          .rest1 = static_cast<T>(1.0 - step.beta1),
          .beta2 = static_cast<T>(step.beta2),
          .rest2 = static_cast<T>(1.0 - step.beta2),
          .rate = static_cast<T>(step.lr / correction(step.beta1)),
          .root = static_cast<T>(1.0 / std::sqrt(correction(step.beta2))),
          .eps = static_cast<T>(step.eps),
          .keep_decaying = static_cast<T>(1.0 - step.lr * step.weight_decay)};
}

template <class T>
void check_adamw(View<const int32_t> pieces, const AdamWInput& input, const AdamWArenas<T>& at) {
  const int64_t workers = at.weights.workers();
  check_shape(pieces.same_shape(1, pieces.rows(), 3), "adamw", "the list of pieces");
  check_shape(input.scales.same_shape(workers, 1, 1), "adamw", "the scales");
  check_shape(input.commit.empty() || input.commit.same_shape(1, 1, 1), "adamw", "the flag");
  for (const View<const T>& x :
       {at.gradients, View<const T>(at.first_moments), View<const T>(at.second_moments)}) {
    check_shape(x.same_shape(workers, 1, at.weights.cols()), "adamw", "an arena");
  }
}

}  // namespace saddle::ops
