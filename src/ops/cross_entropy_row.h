// Next-token cross-entropy of one row of logits, in nats, forward and adjoint, for every operation
// that holds such rows:
//
//   lse = log sum_v exp(z_v)      loss = lse - z_target      dz = weight (exp(z - lse) - [v =
//   target])
//
// A target of kIgnoredTarget has loss 0 and no gradient.
#pragma once

#include "ops/softmax_row.h"

namespace saddle::ops {

inline constexpr int32_t kIgnoredTarget = -100;

// log sum exp of a row; the sum is carried in blocks that are added up in double.
template <class S>
S log_sum_exp_row(Span<const S> z, int64_t count) {
  constexpr int64_t kBlock = 1024;
  const Plane<S> largest = largest_value<S>(z, count);
  num::Wide<S> sum{};
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t end = std::min(count, first + kBlock);
    S part{};
    SADDLE_INDEPENDENT
    for (int64_t i = first; i < end; ++i) part += num::exp(z.load(i) - largest);
    sum += num::convert<num::Wide<S>>(part);
  }
  const num::Wide<S> lse = num::log(sum) + static_cast<Plane<num::Wide<S>>>(largest);
  return num::convert<S>(lse);
}

template <class S>
S cross_entropy_row(Span<const S> z, S lse, int32_t target) {
  return target == kIgnoredTarget ? S{} : lse - z.load(target);
}

// Writes dz, which may be z.
template <class S>
void cross_entropy_row_adjoint(Span<const S> z, S lse, int32_t target, Plane<S> weight,
                               int64_t count, Span<S> dz) {
  if (target == kIgnoredTarget) {
    clear_row<S>(dz, 0, count);
    return;
  }
  SADDLE_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) dz.store(i, num::exp(z.load(i) - lse) * weight);
  dz.store(target, dz.load(target) - weight);
}

}  // namespace saddle::ops
