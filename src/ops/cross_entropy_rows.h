// Row bodies of ops/cross_entropy.h.
#pragma once

#include "ops/cross_entropy_row.h"

namespace saddle::ops {

template <class S>
struct CrossEntropyRow {
  tensor::View<const S> logits;
  tensor::View<const int32_t> targets;
  tensor::View<S> losses, lse;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t m) const {
    const Span<const S> z = logits.row(n, m);
    const int32_t target = targets.row(n, m).load(0);
    const auto all = log_sum_exp(sum_exponentials<S>(group, z, logits.cols(), [](int64_t, S) {}));
    if (!group.first()) return;
    lse.row(n, m).store(0, num::convert<S>(all));
    losses.row(n, m).store(0,
                           target == kIgnoredTarget ? S{} : cross_entropy<S>(all, z.load(target)));
  }
};

template <class S>
struct CrossEntropyAdjointRow {
  tensor::View<const S> logits;
  tensor::View<const int32_t> targets;
  tensor::View<const S> lse;
  tensor::View<const double> weights;  // [N, 1, 1]
  tensor::View<S> dlogits;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t m) const {
    const int32_t target = targets.row(n, m).load(0);
    const Span<S> dz = dlogits.row(n, m);
    if (target == kIgnoredTarget) return clear_row<S>(group, dz, 0, logits.cols());
    const auto weight = static_cast<Plane<S>>(weights.row(n, 0).load(0));
    const auto all = num::convert<num::Wide<S>>(lse.row(n, m).load(0));
    const auto sum = exponentials<S>(group, logits.row(n, m), logits.cols(), dz);
    cross_entropy_row_adjoint<S>(group, Span<const S>(dz), sum.shift, all, weight, target,
                                 logits.cols(), dz);
  }
};

}  // namespace saddle::ops
