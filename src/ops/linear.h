// A projection without bias:
//
//   y = x W^T      dx (+)= dy W      dW += dy^T x
//
// x, dx [N, M, in]; y, dy [N, M, out]; W, dW [N, out, in], one for each worker.
// Cost: 2 M in out operations for each of the three products, per worker.
#pragma once

#include "ops/second_order.h"

namespace saddle::ops {

// Writes y.
template <class L>
void linear_forward(Context& context, View<const L> x, View<const L> weight, View<L> y);

enum class Store { kWrite, kAccumulate };

// Writes dx, or accumulates into it.
template <class L>
void linear_adjoint_input(Context& context, View<const L> dy, View<const L> weight, Store store,
                          View<L> dx);

// Accumulates into dweight.
template <class L>
void linear_adjoint_weight(Context& context, View<const L> x, View<const L> dy,
                           View<Arithmetic<L>> dweight);

// Second order (ops/second_order.h): y' = x' W^T + x W'^T, term 2 <dy, x' W'^T> = 2 <dy W', x'>.
// x, dy [1, M, ...]; W [1, out, in]; x_t, weight_t, y_t [G, ...]. Writes y_t.
// Cost: 3 products for each direction.
template <class T>
void linear_second_order(Context& context, View<const T> x, View<const T> weight, View<const T> dy,
                         View<const T> x_t, View<const T> weight_t, View<T> y_t, Forms forms);

}  // namespace saddle::ops
