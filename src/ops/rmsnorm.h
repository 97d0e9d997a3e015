// rmsnorm (Zhang and Sennrich, "Root mean square layer normalization", NeurIPS 2019):
//
//   r = (mean_c(x^2) + eps)^(-1/2)        y = (x r) g
//   du = dy g      dx += r (du - (x r) mean_c(du x r))      dg += sum over rows of dy x r
//
// x, y, dx, dy [N, M, C]; gain g, dg [N, 1, C]; r [N, M, 1], which the forward saves.
// y may be x. y and dy, which products read and write, are stored as L, the others as S
// (ops/common.h). Cost: 4 (forward) and 9 (adjoint) operations and 2 and 4 moves per element.
#pragma once

#include "ops/second_order.h"

namespace saddle::ops {

// Writes y and r.
template <class L>
void rmsnorm_forward(Context& context, View<const Arithmetic<L>> x, View<const Arithmetic<L>> gain,
                     double eps, View<L> y, View<Arithmetic<L>> r);

// x_new = x + delta, then rmsnorm of x_new, in one pass; x_new may be x. Its adjoint is
// rmsnorm_adjoint at x_new: what it accumulates is the gradient of both x and delta. delta is the
// output of a product, stored as L.
template <class L>
void residual_rmsnorm_forward(Context& context, View<const Arithmetic<L>> x, View<const L> delta,
                              View<const Arithmetic<L>> gain, double eps, View<Arithmetic<L>> x_new,
                              View<L> y, View<Arithmetic<L>> r);

// Accumulates into dx, and into dgain unless that is empty. Where L is Bf16, writes the new dx
// also into dx_operand, an operand of the products of delta's adjoint, unless that is empty.
template <class L>
void rmsnorm_adjoint(Context& context, View<const Arithmetic<L>> x, View<const Arithmetic<L>> gain,
                     View<const Arithmetic<L>> r, View<const L> dy, View<Arithmetic<L>> dx,
                     View<Arithmetic<L>> dgain, View<L> dx_operand = {});

// Second order (ops/second_order.h) of both. x, dy [1, M, C]; gain [1, 1, C]; x_t, y_t [G, M, C];
// gain_t [G, 1, C]. Writes y_t, which may be x_t.
template <class T>
void rmsnorm_second_order(Context& context, View<const T> x, View<const T> gain, double eps,
                          View<const T> dy, View<const T> x_t, View<const T> gain_t, View<T> y_t,
                          Forms forms);

}  // namespace saddle::ops
