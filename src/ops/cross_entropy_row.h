// Next-token cross-entropy of one row of logits, in nats, forward and adjoint, for every operation
// with such rows, whole or in pieces:
//
//   lse = log sum_v exp(z_v)      loss = lse - z_target
//   dz = weight (exp(z - lse) - [v = target])
//
// Exponentials are computed relative to a shift, the largest logit of their piece; merging brings
// the sums of pieces to a common shift (Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018). A target of kIgnoredTarget has loss 0 and no gradient.
#pragma once

#include "base/ignored_target.h"
#include "num/wide.h"
#include "ops/softmax_row.h"

namespace saddle::ops {

using num::Plane;
using tensor::Span;

// sum_v exp(z_v - shift) over some logits of a row.
template <class S>
struct ShiftedSum {
  Plane<S> shift{};
  num::Wide<S> sum{};
};

// Shift and sum of a piece; calls visit(i, e) with every e = exp(z_i - shift) in the lane that owns
// z_i. The sum is computed in blocks that are added up in double.
template <class L, class Group, class Visit>
constexpr ShiftedSum<num::Arithmetic<L>> sum_exponentials(Group group, Span<const L> z,
                                                          int64_t count, Visit&& visit) {
  using S = num::Arithmetic<L>;
  constexpr int64_t kBlock = 1024;
  ShiftedSum<S> result;
  const Plane<S> shift = largest_value<L>(group, z, count);
  result.shift = shift;
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t end = count < first + kBlock ? count : first + kBlock;
    S part{};
    SADDLE_INDEPENDENT
    for (int64_t i = first + group.index(); i < end; i += Group::kCount) {
      const S e = num::exp(z.load(i) - shift);
      visit(i, e);
      part += e;
    }
    result.sum += num::convert<num::Wide<S>>(part);
  }
  result.sum = group.sum(result.sum);
  return result;
}

// The same, and writes e, which may be z.
template <class S, class Group>
constexpr ShiftedSum<S> exponentials(Group group, Span<const S> z, int64_t count, Span<S> e) {
  return sum_exponentials<S>(group, z, count, [e](int64_t i, S number) { e.store(i, number); });
}

template <class S>
constexpr ShiftedSum<S> merge(ShiftedSum<S> a, ShiftedSum<S> b) {
  using Wide = Plane<num::Wide<S>>;
  const Plane<S> shift = a.shift > b.shift ? a.shift : b.shift;
  const Wide scale_a = num::exp(static_cast<Wide>(a.shift) - static_cast<Wide>(shift));
  const Wide scale_b = num::exp(static_cast<Wide>(b.shift) - static_cast<Wide>(shift));
  return {shift, a.sum * scale_a + b.sum * scale_b};
}

template <class S>
constexpr num::Wide<S> log_sum_exp(const ShiftedSum<S>& all) {
  return num::log(all.sum) + static_cast<Plane<num::Wide<S>>>(all.shift);
}

// The loss of a row with a target that is not ignored.
template <class S>
constexpr S cross_entropy(num::Wide<S> lse, S target_logit) {
  return num::convert<S>(lse - num::convert<num::Wide<S>>(target_logit));
}

// Loads exp(z - shift) of stored logits.
template <class L>
struct ExponentialsOf {
  Span<const L> z;
  num::Scalar<L> shift;

  constexpr num::Arithmetic<L> load(int64_t i) const { return num::exp(z.load(i) - shift); }
};

// Writes dz = weight (p - [i = target]) over some logits of a row, from e = exp(z - shift), which
// is a span or an ExponentialsOf; dz may be in the place of e. `target` is counted from the first
// of these logits and may be outside of them.
template <class L, class E, class Group>
constexpr void cross_entropy_row_adjoint(Group group, E e, num::Scalar<L> shift,
                                         num::Wide<num::Arithmetic<L>> lse, num::Scalar<L> weight,
                                         int64_t target, int64_t count, Span<L> dz) {
  using S = num::Arithmetic<L>;
  using Wide = Plane<num::Wide<S>>;
  const S factor = num::convert<S>(num::exp(static_cast<Wide>(shift) - lse)) * weight;
  // The lane that owns the logit of the target reads it before it writes.
  const bool mine = target >= 0 && target < count && target % Group::kCount == group.index();
  const S at_target = mine ? e.load(target) * factor : S{};
  SADDLE_INDEPENDENT
  for (int64_t i = group.index(); i < count; i += Group::kCount) dz.store(i, e.load(i) * factor);
  if (mine) dz.store(target, at_target - weight);
}

}  // namespace saddle::ops
