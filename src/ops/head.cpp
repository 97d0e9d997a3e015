#include "ops/head.h"

#include "ops/head_chunk.h"

namespace saddle::ops {
namespace {

// Calls fn(n, chunk) for every chunk of rows of every worker, after chunk.begin().
//
// Either one worker after another, with all threads on each of its products; or, if every thread
// gets the same number of workers, one thread per worker, so that no thread waits for another
// inside a worker. With several workers chunks are smaller, and the same both ways, so their sums
// in double are the same too. Many threads would need much memory for their chunks.
template <class S, class Fn>
void for_chunks(Context& context, View<const S> x, int64_t vocabulary, View<const int32_t> targets,
                bool keeps_all, Fn&& fn) {
  constexpr int64_t kMostChunks = 8;
  const int64_t workers = x.workers();
  const int64_t threads = context.threads();
  const int64_t held = std::min(x.rows(), workers > 1 ? kHeadRows / 2 : kHeadRows);
  const auto worker = [&](Context& lane, int64_t n) {
    backend::Workspace::Scope scope(lane.workspace());
    HeadChunk<S> chunk(lane, scope, held, vocabulary, keeps_all);
    for (int64_t first = 0; first < x.rows(); first += held) {
      chunk.begin(targets, n, first, std::min(held, x.rows() - first));
      fn(n, chunk);
    }
  };
  if (workers > 1 && workers % threads == 0 && threads <= kMostChunks) {
    return backend::parallel_tasks(context, workers, worker);
  }
  for (int64_t n = 0; n < workers; ++n) worker(context, n);
}

template <class S>
void check(View<const S> x, View<const S> table, View<const int32_t> targets, View<const S> losses,
           const char* operation) {
  check_shape(table.same_shape(x.workers(), table.rows(), x.cols()), operation, "the table");
  check_shape(targets.same_shape(x.workers(), x.rows(), 1), operation, "targets");
  check_shape(losses.same_shape(x.workers(), x.rows(), 1), operation, "losses");
}

}  // namespace

template <class S>
void head_loss(Context& context, View<const S> x, View<const S> table, View<const int32_t> targets,
               View<S> losses) {
  check<S>(x, table, targets, losses, "head_loss");
  for_chunks<S>(context, x, table.rows(), targets, false, [&](int64_t, HeadChunk<S>& chunk) {
    chunk.make_exponentials(x, table);
    chunk.write_losses(losses);
  });
}

template <class S>
void head_loss_and_gradient(Context& context, View<const S> x, View<const S> table,
                            View<const int32_t> targets, View<const double> weights, View<S> losses,
                            View<S> dx, View<S> dtable) {
  constexpr const char* kName = "head_loss_and_gradient";
  check<S>(x, table, targets, losses, kName);
  check_shape(weights.same_shape(x.workers(), 1, 1), kName, "the weights");
  check_shape(dx.same_shape(x.workers(), x.rows(), x.cols()), kName, "dx");
  check_shape(dtable.empty() || dtable.same_shape(x.workers(), table.rows(), x.cols()), kName,
              "dtable");
  for_chunks<S>(context, x, table.rows(), targets, true, [&](int64_t, HeadChunk<S>& chunk) {
    chunk.make_exponentials(x, table);
    chunk.write_losses(losses);
    chunk.make_gradients(x, table, weights, dx, dtable);
  });
}

#define SADDLE_INSTANTIATE(S) template decltype(head_loss<S>) head_loss<S>;
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S) \
  template decltype(head_loss_and_gradient<S>) head_loss_and_gradient<S>;
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
