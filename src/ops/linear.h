// A projection without bias:
//
//   y = x W^T      dx (+)= dy W      dW += dy^T x
//
// x, dx [N, M, in]; y, dy [N, M, out]; W, dW [N, out, in], each worker its own.
// Cost: 2 M in out operations for each of the three products and worker.
#pragma once

#include "ops/common.h"

namespace saddle::ops {

// Writes y.
template <class S>
void linear_forward(Context& context, View<const S> x, View<const S> weight, View<S> y);

enum class Store { kWrite, kAccumulate };

// Writes dx or accumulates into it.
template <class S>
void linear_adjoint_input(Context& context, View<const S> dy, View<const S> weight, Store store,
                          View<S> dx);

// Accumulates into dweight.
template <class S>
void linear_adjoint_weight(Context& context, View<const S> x, View<const S> dy, View<S> dweight);

}  // namespace saddle::ops
