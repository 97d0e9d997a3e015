// Rotary position embedding (Su et al., "RoFormer", 2021, section 3.2), half-split pairs: within a
// head of size h the pair (i, i + h/2) at position t is rotated by t theta^(-2i/h).
//
//   y_i = x_i cos - x_j sin      y_j = x_j cos + x_i sin      j = i + h/2
//
// The adjoint rotates back by the same angle. Tables [1, T, h/2] hold cos and sin; they are
// computed in float64 and rounded once, and are never rounded to bf16.
// Cost: 6 operations per pair, in place.
#pragma once

#include "ops/common.h"

namespace saddle::ops {

template <class T>
struct RopeTables {
  View<const T> cos;
  View<const T> sin;
};

// Writes cos and sin [1, positions, head_size / 2] for positions from 0.
template <class T>
void rope_tables(Context& context, double theta, View<T> cos, View<T> sin);

// Rotates x [N, B*T, heads * h] in place; row b*T + t of a worker is at position t.
template <class L>
void rope_forward(Context& context, RopeTables<Scalar<L>> tables, int64_t positions, View<L> x);

// Rotates dx back in place.
template <class L>
void rope_adjoint(Context& context, RopeTables<Scalar<L>> tables, int64_t positions, View<L> dx);

}  // namespace saddle::ops
