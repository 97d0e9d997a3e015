// Causal attention in three steps that store all their results: the reference for ops/attention.h,
// which describes the formulas, shapes and columns of heads.
//
// Scores, probabilities and their adjoints [N, B*H*T, T]: row ((b H + i) T + t), column = key.
#pragma once

#include "ops/attention.h"

namespace saddle::ops {

// Writes s = q k^T / sqrt(h), including the masked half.
template <class S>
void attention_scores_forward(Context& context, AttentionShape shape, View<const S> q,
                              View<const S> k, View<S> s);
// Writes dq and dk.
template <class S>
void attention_scores_adjoint(Context& context, AttentionShape shape, View<const S> q,
                              View<const S> k, View<const S> ds, View<S> dq, View<S> dk);

// Writes p: row t's softmax over keys 0..t, and 0 for later keys; p may be s. Never rounds,
// whatever shape.round_probabilities says.
template <class S>
void causal_softmax_forward(Context& context, AttentionShape shape, View<const S> s, View<S> p);
// Writes ds, which is 0 after key t; ds may be dp.
template <class S>
void causal_softmax_adjoint(Context& context, AttentionShape shape, View<const S> p,
                            View<const S> dp, View<S> ds);

// Writes o = p v.
template <class S>
void attention_values_forward(Context& context, AttentionShape shape, View<const S> p,
                              View<const S> v, View<S> o);
// Writes dp and dv.
template <class S>
void attention_values_adjoint(Context& context, AttentionShape shape, View<const S> p,
                              View<const S> v, View<const S> d_o, View<S> dp, View<S> dv);

}  // namespace saddle::ops
