#include "ops/cross_entropy.h"

#include "ops/cross_entropy_rows.h"

namespace saddle::ops {

template <class S>
void cross_entropy_forward(Context& context, View<const S> logits, View<const int32_t> targets,
                           View<S> losses, View<S> lse) {
  const int64_t rows = logits.rows();
  check_shape(targets.same_shape(logits.workers(), rows, 1), "cross_entropy_forward", "targets");
  check_shape(losses.same_shape(logits.workers(), rows, 1), "cross_entropy_forward", "losses");
  check_shape(lse.same_shape(logits.workers(), rows, 1), "cross_entropy_forward", "lse");
  for_rows(context,
           {"cross_entropy", logits.workers(), rows, logits.cols(), logits.cols() * bytes_of<S>()},
           CrossEntropyRow<S>{logits, targets, losses, lse});
}

template <class S>
void cross_entropy_adjoint(Context& context, View<const S> logits, View<const int32_t> targets,
                           View<const S> lse, View<const double> weights, View<S> dlogits) {
  constexpr const char* kName = "cross_entropy_adjoint";
  const int64_t rows = logits.rows();
  check_shape(targets.same_shape(logits.workers(), rows, 1), kName, "targets");
  check_shape(lse.same_shape(logits.workers(), rows, 1), kName, "lse");
  check_shape(weights.same_shape(logits.workers(), 1, 1), kName, "the weights");
  check_shape(dlogits.same_shape(logits.workers(), rows, logits.cols()), kName, "dlogits");
  for_rows(context,
           {kName, logits.workers(), rows, logits.cols(), 2 * logits.cols() * bytes_of<S>()},
           CrossEntropyAdjointRow<S>{logits, targets, lse, weights, dlogits});
}

#define SADDLE_INSTANTIATE(S) template decltype(cross_entropy_forward<S>) cross_entropy_forward<S>;
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S) template decltype(cross_entropy_adjoint<S>) cross_entropy_adjoint<S>;
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
