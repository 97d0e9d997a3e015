// Next-token cross-entropy over stored logits; formulas in ops/cross_entropy_row.h.
//
// logits z, dz [N, M, V]; targets [N, M, 1], kIgnoredTarget or in [0, V); losses and lse [N, M, 1];
// weights [N, 1, 1].
// Cost: 1 exp and 2 moves per logit, forward and adjoint.
#pragma once

#include "ops/common.h"
#include "ops/cross_entropy_row.h"

namespace saddle::ops {

// Writes the loss of each row (0 where ignored) and lse.
template <class S>
void cross_entropy_forward(Context& context, View<const S> logits, View<const int32_t> targets,
                           View<S> losses, View<S> lse);

// Writes dlogits (which may be logits): the gradient of sum_m weights_n loss_m for each worker n.
template <class S>
void cross_entropy_adjoint(Context& context, View<const S> logits, View<const int32_t> targets,
                           View<const S> lse, View<const double> weights, View<S> dlogits);

}  // namespace saddle::ops
