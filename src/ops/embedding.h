// Embedding lookup: y_m = E[token_m]; dE[token_m] += dy_m.
//
// tokens [N, M, 1] in [0, V) (the loader checks this); E, dE [N, V, C]; y, dy [N, M, C].
// Linear in E. Cost: 2 moves (forward) or 3 (adjoint) per element of y.
#pragma once

#include "ops/common.h"

namespace saddle::ops {

// Writes y.
template <class S>
void embedding_forward(Context& context, View<const int32_t> tokens, View<const S> table,
                       View<S> y);

// Accumulates into dtable, in the order of the rows for any number of threads.
template <class S>
void embedding_adjoint(Context& context, View<const int32_t> tokens, View<const S> dy,
                       View<S> dtable);

}  // namespace saddle::ops
