#include "ops/cross_entropy.h"

namespace saddle::ops {

template <class S>
void cross_entropy_forward(Context& context, View<const S> logits, View<const int32_t> targets,
                           View<S> losses, View<S> lse) {
  check_shape(losses.same_shape(logits.workers(), logits.rows(), 1), "cross_entropy_forward",
              "losses");
  for_rows(context, logits.workers(), logits.rows(), [&](int64_t n, int64_t m) {
    const Span<const S> z = logits.row(n, m);
    const S row_lse = log_sum_exp_row<S>(z, logits.cols());
    lse.row(n, m).store(0, row_lse);
    losses.row(n, m).store(0, cross_entropy_row<S>(z, row_lse, targets.row(n, m).load(0)));
  });
}

template <class S>
void cross_entropy_adjoint(Context& context, View<const S> logits, View<const int32_t> targets,
                           View<const S> lse, std::span<const double> weights, View<S> dlogits) {
  check_shape(dlogits.same_shape(logits.workers(), logits.rows(), logits.cols()),
              "cross_entropy_adjoint", "dlogits");
  for_rows(context, logits.workers(), logits.rows(), [&](int64_t n, int64_t m) {
    cross_entropy_row_adjoint<S>(logits.row(n, m), lse.row(n, m).load(0), targets.row(n, m).load(0),
                                 static_cast<Plane<S>>(weights[n]), logits.cols(),
                                 dlogits.row(n, m));
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
