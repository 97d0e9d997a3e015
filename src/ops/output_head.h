// The output head: logits z = x E^T and their cross-entropy (ops/cross_entropy_row.h),
// kOutputHeadRows rows at a time, so that the logits of a batch are never all in memory.
//
//   dx = dz E      dE += dz^T x
//
// x, dx [N, M, C]; E, dE [N, V, C]; targets [N, M, 1]; losses [N, M, 1]; weights [N, 1, 1].
// The logits of a chunk of rows are stored in tiles of kOutputHeadColumns columns, each contiguous.
// A first pass over the tiles computes logits and, while a tile is in the cache, turns them into
// exponentials; a second pass turns those into dz and multiplies, again a tile at a time. The
// gradient is computed together with the loss, while the exponentials are in memory: weights_n is
// the derivative of the objective (for example the mean over all targets of an update) by each loss
// of worker n. If every thread gets the same number of workers, each worker is computed by one
// thread, several at a time, in chunks of fewer rows; the bits may then differ from those of a
// worker alone. Cost: 2 M V C operations (loss) or 6 M V C (with gradient), 1 exp and 3 or 6 moves
// per logit.
#pragma once

#include "ops/common.h"

namespace saddle::ops {

// Rows whose logits are in memory together: the inner dimension of dE's product.
inline constexpr int64_t kOutputHeadRows = 1024;
// Columns of a tile: not a power of two, because rows a power of two apart compete for the same
// cache lines.
inline constexpr int64_t kOutputHeadColumns = 1920;

// Writes the loss of each row, 0 where the target is ignored. Where L is Bf16, logits and their
// gradient are stored as such; otherwise round_logits rounds the logits' values to bf16.
template <class L>
void output_head_loss(Context& context, View<const L> x, View<const L> table,
                      View<const int32_t> targets, View<Arithmetic<L>> losses,
                      bool round_logits = false);

// Writes losses and dx, accumulates into dtable unless that is empty.
template <class L>
void output_head_loss_and_gradient(Context& context, View<const L> x, View<const L> table,
                                   View<const int32_t> targets, View<const double> weights,
                                   View<Arithmetic<L>> losses, View<L> dx,
                                   View<Arithmetic<L>> dtable, bool round_logits = false);

}  // namespace saddle::ops
