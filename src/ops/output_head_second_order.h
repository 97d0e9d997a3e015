// The second order (ops/second_order.h) of the head (ops/output_head.h). With z = x E^T, p =
// softmax z, dz = w (p - [v = target]) where w is the weight of the loss, and along a direction z'
// = x' E^T + x E'^T, the terms of product and cross-entropy are, per row,
//
//   2 <dz, x' E'^T>  +  w (sum p z'^2 - (sum p z')^2)
//
// the first of them computed as 2 <w p E' - w E'_target, x'>. Rows whose target is ignored have
// none. Probabilities of kOutputHeadRows rows are computed once for all directions.
// Cost: 2 M V C operations and 1 exp per logit, and 6 M V C operations for each direction.
#pragma once

#include "ops/output_head.h"
#include "ops/second_order.h"

namespace saddle::ops {

// round_logits as in ops/output_head.h. x [1, M, C]; E [1, V, C]; targets [1, M, 1]; x_t [G, M, C],
// table_t [G, V, C].
template <class T>
void output_head_second_order(Context& context, View<const T> x, View<const T> table,
                              View<const int32_t> targets, double weight, View<const T> x_t,
                              View<const T> table_t, Forms forms, bool round_logits = false);

}  // namespace saddle::ops
