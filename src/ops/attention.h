// Causal attention (Vaswani et al., "Attention is all you need", 2017, section 3.2.1), per head:
//
//   s = q k^T / sqrt(h)     p_t = softmax(s_t over keys 0..t)     o = p v
//   dv = p^T do     dp = do v^T     ds = p (dp - sum p dp)
//   dq = ds k / sqrt(h)     dk = ds^T q / sqrt(h)
//
// q, k, v, o and their adjoints [N, B*T, H*h]; head i has columns [i h, (i+1) h). q, k and v may be
// column ranges of one tensor.
//
// This is one operation that stores no score matrix. It computes kQueryRows rows of scores at a
// time over the keys that they see, so the masked half is neither computed nor stored; the adjoint
// recomputes the probabilities. Where L is Bf16, scores, probabilities and their adjoints are
// float, and are rounded as operands of products. ops/attention_steps.h has the steps that store
// everything. Cost: 2 (forward) and 5 (adjoint) products of 2 h T (T + kQueryRows) / 2 operations,
// and 1 exp each per score.
#pragma once

#include "ops/common.h"

namespace saddle::ops {

struct AttentionShape {
  int64_t sequences = 0;  // B
  int64_t positions = 0;  // T
  int64_t heads = 0;      // H
  int64_t head_size = 0;  // h
  // bf16 autocast over numbers that are stored whole: probabilities are rounded to bf16 before they
  // are multiplied by the values. (The caller rounds q, k and v.)
  bool round_probabilities = false;
};

inline constexpr int64_t kQueryRows = 128;

// Writes o.
template <class L>
void attention_forward(Context& context, AttentionShape shape, View<const L> q, View<const L> k,
                       View<const L> v, View<L> o);

// Writes dq, dk and dv.
template <class L>
void attention_adjoint(Context& context, AttentionShape shape, View<const L> q, View<const L> k,
                       View<const L> v, View<const L> d_o, View<L> dq, View<L> dk, View<L> dv);

}  // namespace saddle::ops
