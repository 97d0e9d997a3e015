#include "ops/cross_entropy.h"

namespace saddle::ops {

template <class S>
void cross_entropy_forward(Context& context, View<const S> logits, View<const int32_t> targets,
                           View<S> losses, View<S> lse) {
  check_shape(losses.same_shape(logits.workers(), logits.rows(), 1), "cross_entropy_forward",
              "losses");
  for_rows(context, logits.workers(), logits.rows(), [&](int64_t n, int64_t m) {
    const Span<const S> z = logits.row(n, m);
    const int32_t target = targets.row(n, m).load(0);
    const auto all = log_sum_exp(sum_exponentials<S>(z, logits.cols(), [](int64_t, S) {}));
    lse.row(n, m).store(0, num::convert<S>(all));
    losses.row(n, m).store(0,
                           target == kIgnoredTarget ? S{} : cross_entropy<S>(all, z.load(target)));
  });
}

template <class S>
void cross_entropy_adjoint(Context& context, View<const S> logits, View<const int32_t> targets,
                           View<const S> lse, std::span<const double> weights, View<S> dlogits) {
  check_shape(dlogits.same_shape(logits.workers(), logits.rows(), logits.cols()),
              "cross_entropy_adjoint", "dlogits");
  for_rows(context, logits.workers(), logits.rows(), [&](int64_t n, int64_t m) {
    const int32_t target = targets.row(n, m).load(0);
    const Span<S> dz = dlogits.row(n, m);
    if (target == kIgnoredTarget) {
      clear_row<S>(dz, 0, logits.cols());
      return;
    }
    const auto weight = static_cast<Plane<S>>(weights[n]);
    const auto all = num::convert<num::Wide<S>>(lse.row(n, m).load(0));
    const auto sum = exponentials<S>(logits.row(n, m), logits.cols(), dz);
    probabilities_times_weight<S>(dz, sum.shift, all, weight, logits.cols(), dz);
    subtract_target<S>(dz, target, weight);
  });
}

#define SADDLE_INSTANTIATE(S)                                                                   \
  template void cross_entropy_forward<S>(Context&, View<const S>, View<const int32_t>, View<S>, \
                                         View<S>);
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S)                                                          \
  template void cross_entropy_adjoint<S>(Context&, View<const S>, View<const int32_t>, \
                                         View<const S>, std::span<const double>, View<S>);
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
