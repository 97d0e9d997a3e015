// squared_relu (So et al., "Primer: Searching for efficient transformers for language modeling",
// NeurIPS 2021, section 4.2):
//
//   y = max(x, 0)^2        dx += 2 max(x, 0) dy
//
// x, y, dx, dy [N, M, C]. y may be x. Cost: 2 (forward) and 3 (adjoint) operations and 2 and 4
// moves per element. The example of docs/add_an_operation.md: no model uses it.
#pragma once

#include "ops/common.h"

namespace saddle::ops {

// Writes y.
template <class S>
void squared_relu_forward(Context& context, View<const S> x, View<S> y);

// Accumulates into dx.
template <class S>
void squared_relu_adjoint(Context& context, View<const S> x, View<const S> dy, View<S> dx);

}  // namespace saddle::ops
