// The head: logits z = x E^T and their cross-entropy (ops/cross_entropy_row.h), kHeadRows rows at a
// time, so that the logits of a batch are never all in memory.
//
//   dx = dz E      dE += dz^T x
//
// x, dx [N, M, C]; E, dE [N, V, C]; targets [N, M, 1]; losses [N, M, 1].
// The logits of a chunk of rows lie in tiles of kHeadColumns columns, each contiguous. A first pass
// over the tiles makes logits and, while a tile is in the cache, turns them into exponentials; a
// second turns those into dz and multiplies, again a tile at a time. The gradient is made together
// with the loss, while the exponentials are there: weights[n] is the derivative of what is wanted
// (the mean over all targets of an update, say) by each loss of worker n.
// Where every thread gets as many workers, whole workers are computed side by side, one thread
// each, in chunks of fewer rows; the bits may then differ from those of a worker alone. Cost: 2 M V
// C operations (loss) or 6 M V C (gradient too), 1 exp and 3 or 6 moves per logit.
#pragma once

#include <span>

#include "ops/common.h"

namespace saddle::ops {

// Rows whose logits are in memory together: the inner dimension of dE's product.
inline constexpr int64_t kHeadRows = 1024;
// Columns of a tile: no power of two, at which rows a tile apart meet in the same lines of the
// cache.
inline constexpr int64_t kHeadColumns = 1920;

// Writes the loss of each row, 0 where the target is ignored.
template <class S>
void head_loss(Context& context, View<const S> x, View<const S> table, View<const int32_t> targets,
               View<S> losses);

// Writes losses and dx, accumulates into dtable unless that is empty.
template <class S>
void head_loss_and_gradient(Context& context, View<const S> x, View<const S> table,
                            View<const int32_t> targets, std::span<const double> weights,
                            View<S> losses, View<S> dx, View<S> dtable);

// Scratch in bytes, for `rows` rows of each worker, of head_loss() or head_loss_and_gradient().
template <class S>
int64_t head_scratch(const Context& context, int64_t workers, int64_t rows, int64_t vocabulary,
                     bool gradient);

}  // namespace saddle::ops
