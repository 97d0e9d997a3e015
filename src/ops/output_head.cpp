#include "ops/output_head.h"

#include "ops/elementwise.h"
#include "ops/output_head_chunk.h"

namespace saddle::ops {
namespace {

// Calls fn(lane, chunk) for every chunk of rows of every worker, after chunk.begin().
//
// Either one worker after another, with all threads on each of its products; or, if every thread
// gets the same number of workers, one thread per worker, so that no thread waits for another
// inside a worker. With several workers chunks are smaller, and the same both ways, so their sums
// in double are the same too. Many threads would need much memory for their chunks.
template <class L, class Fn>
void for_chunks(Context& context, View<const L> x, int64_t vocabulary, View<const int32_t> targets,
                bool keeps_all, bool rounds, Fn&& fn) {
  constexpr int64_t kMostChunks = 8;
  const int64_t workers = x.workers();
  const int64_t threads = context.threads();
  const int64_t held = std::min(x.rows(), workers > 1 ? kOutputHeadRows / 2 : kOutputHeadRows);
  const auto worker = [&](Context& lane, int64_t n) {
    backend::Workspace::Scope scope(lane.workspace());
    OutputHeadChunk<L> chunk(lane, scope, held, vocabulary, keeps_all, rounds);
    for (int64_t first = 0; first < x.rows(); first += held) {
      chunk.begin(targets, n, first, std::min(held, x.rows() - first));
      fn(lane, chunk);
    }
  };
  if (workers > 1 && workers % threads == 0 && threads <= kMostChunks) {
    return backend::parallel_tasks(context, workers, worker);
  }
  for (int64_t n = 0; n < workers; ++n) worker(context, n);
}

template <class L>
void check(View<const L> x, View<const L> table, View<const int32_t> targets,
           View<Arithmetic<L>> losses, const char* operation) {
  check_shape(table.same_shape(x.workers(), table.rows(), x.cols()), operation, "the table");
  check_shape(targets.same_shape(x.workers(), x.rows(), 1), operation, "targets");
  check_shape(losses.same_shape(x.workers(), x.rows(), 1), operation, "losses");
}

}  // namespace

template <class L>
void output_head_loss(Context& context, View<const L> x, View<const L> table,
                      View<const int32_t> targets, View<Arithmetic<L>> losses, bool round_logits) {
  check<L>(x, table, targets, losses, "output_head_loss");
  for_chunks<L>(context, x, table.rows(), targets, false, round_logits,
                [&](Context&, OutputHeadChunk<L>& chunk) {
                  chunk.make_exponentials(x, table);
                  chunk.write_losses(losses);
                });
}

template <class L>
void output_head_loss_and_gradient(Context& context, View<const L> x, View<const L> table,
                                   View<const int32_t> targets, View<const double> weights,
                                   View<Arithmetic<L>> losses, View<L> dx,
                                   View<Arithmetic<L>> dtable, bool round_logits) {
  using S = Arithmetic<L>;
  constexpr const char* kName = "output_head_loss_and_gradient";
  check<L>(x, table, targets, losses, kName);
  check_shape(weights.same_shape(x.workers(), 1, 1), kName, "the weights");
  check_shape(dx.same_shape(x.workers(), x.rows(), x.cols()), kName, "dx");
  check_shape(dtable.empty() || dtable.same_shape(x.workers(), table.rows(), x.cols()), kName,
              "dtable");
  for_chunks<L>(
      context, x, table.rows(), targets, true, round_logits,
      [&](Context& lane, OutputHeadChunk<L>& chunk) {
        chunk.make_exponentials(x, table);
        chunk.write_losses(losses);
        const View<L> rows =
            dx.worker_range(chunk.worker(), 1).row_range(chunk.first_row(), chunk.row_count());
        if constexpr (std::is_same_v<L, S>) {
          chunk.make_gradients(x, table, weights, rows, dtable);
        } else {
          // Summed over the tiles in float, and rounded once.
          backend::Workspace::Scope scope(lane.workspace());
          const View<S> sum = scratch_view<S>(scope, 1, rows.rows(), rows.cols());
          chunk.make_gradients(x, table, weights, sum, dtable);
          store_as<L>(lane, sum, rows);
        }
      });
}

#define SADDLE_INSTANTIATE(L) template decltype(output_head_loss<L>) output_head_loss<L>;
SADDLE_FOR_FORWARD_STORAGE(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(L) \
  template decltype(output_head_loss_and_gradient<L>) output_head_loss_and_gradient<L>;
SADDLE_FOR_ADJOINT_STORAGE(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
