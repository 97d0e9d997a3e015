// rmsnorm (Zhang and Sennrich, "Root mean square layer normalization", NeurIPS 2019):
//
//   r = (mean_c(x^2) + eps)^(-1/2)        y = (x r) g
//   du = dy g      dx += r (du - (x r) mean_c(du x r))      dg += sum over rows of dy x r
//
// x, y, dx, dy [N, M, C]; gain g, dg [N, 1, C]; r [N, M, 1], which the forward saves.
// y may be x. Cost: 4 (forward) and 9 (adjoint) operations and 2 and 4 moves per element.
#pragma once

#include "ops/second_order.h"

namespace saddle::ops {

// Writes y and r.
template <class S>
void rmsnorm_forward(Context& context, View<const S> x, View<const S> gain, double eps, View<S> y,
                     View<S> r);

// x_new = x + delta, then rmsnorm of x_new, in one pass; x_new may be x. Its adjoint is
// rmsnorm_adjoint at x_new: what it accumulates is the gradient of both x and delta.
template <class S>
void residual_rmsnorm_forward(Context& context, View<const S> x, View<const S> delta,
                              View<const S> gain, double eps, View<S> x_new, View<S> y, View<S> r);

// Accumulates into dx, and into dgain unless that is empty.
template <class S>
void rmsnorm_adjoint(Context& context, View<const S> x, View<const S> gain, View<const S> r,
                     View<const S> dy, View<S> dx, View<S> dgain);

// Second order (ops/second_order.h) of both. x, dy [1, M, C]; gain [1, 1, C]; x_t, y_t [G, M, C];
// gain_t [G, 1, C]. Writes y_t, which may be x_t.
template <class T>
void rmsnorm_second_order(Context& context, View<const T> x, View<const T> gain, double eps,
                          View<const T> dy, View<const T> x_t, View<const T> gain_t, View<T> y_t,
                          Forms forms);

}  // namespace saddle::ops
