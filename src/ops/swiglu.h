// swiglu (Shazeer, "GLU variants improve transformer", 2020, section 2):
//
//   s = sigmoid(g)      a = g s u
//   dg = da u s (1 + g (1 - s))      du = da g s
//
// g, u, a and their adjoints [N, M, F]; g and u are usually the two halves of one [N, M, 2F].
// Cost: one exp and 4 (forward) or 9 (adjoint) operations, 3 or 5 moves per element.
#pragma once

#include "ops/second_order.h"

namespace saddle::ops {

// Writes a.
template <class L>
void swiglu_forward(Context& context, View<const L> gate, View<const L> up, View<L> a);

// Writes dgate and dup, which may be gate and up.
template <class L>
void swiglu_adjoint(Context& context, View<const L> gate, View<const L> up, View<const L> da,
                    View<L> dgate, View<L> dup);

// Second order (ops/second_order.h). gate, up, da [1, M, F]; gate_t, up_t, a_t [G, M, F]. Writes
// a_t, which may be gate_t or up_t.
template <class T>
void swiglu_second_order(Context& context, View<const T> gate, View<const T> up, View<const T> da,
                         View<const T> gate_t, View<const T> up_t, View<T> a_t, Forms forms);

}  // namespace saddle::ops
