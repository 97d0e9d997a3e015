// Causal attention of new positions over the keys and values of all positions so far, for
// generating text: the formulas of ops/attention.h, but only the last rows are computed.
//
// q, o [N, R, H*h]: the R newest positions of one sequence. k, v [N, P, H*h]: all P >= R positions.
// Query r is at position P - R + r and sees the keys up to that position.
// There is no adjoint, and only ordinary numbers are supported: generation differentiates nothing.
// Cost: 2 products of 2 h R P operations and R P exp for each head and worker.
#pragma once

#include "ops/common.h"

namespace saddle::ops {

// Writes o.
template <class T>
void cached_attention_forward(Context& context, int64_t heads, View<const T> q, View<const T> k,
                              View<const T> v, View<T> o);

}  // namespace saddle::ops
