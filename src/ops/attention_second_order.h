// The second order (ops/second_order.h) of causal attention (ops/attention.h). With
// s = q k^T / sqrt(h), p = softmax s, dp = do v^T, ds = p (dp - sum p dp), and along a direction
//
//   s' = (q' k^T + q k'^T) / sqrt(h)      m = sum p s'      p' = p (s' - m)
//   o' = p' v + p v'
//
// the terms of scores, softmax and values are, per query,
//
//   2 <ds, q' k'^T> / sqrt(h)  +  sum ds s'^2 - 2 m sum ds s'  +  2 <do, p' v'>
//
// the middle one because <dp, p''> = sum p (dp - sum p dp) (s' - m)^2 and sum ds = 0.
//
// Scores, probabilities and their adjoints are computed once for all directions, kQueryRows rows at
// a time as in ops/attention.h; no score matrix is stored.
// Cost: 2 products of 2 h T (T + kQueryRows) / 2 operations and 1 exp per score, and 6 such
// products for each direction.
#pragma once

#include "ops/attention.h"
#include "ops/second_order.h"

namespace saddle::ops {

// q, k, v, d_o [1, B*T, H*h]; tangents q_t, k_t, v_t, o_t [G, B*T, H*h]. Writes o_t, which
// may be q_t.
template <class T>
void attention_second_order(Context& context, AttentionShape shape, View<const T> q,
                            View<const T> k, View<const T> v, View<const T> d_o, View<const T> q_t,
                            View<const T> k_t, View<const T> v_t, View<T> o_t, Forms forms);

}  // namespace saddle::ops
