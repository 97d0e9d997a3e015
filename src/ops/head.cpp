#include "ops/head.h"

#include "ops/head_chunk.h"

namespace saddle::ops {

namespace {

// How the workers of a call are divided among threads.
struct HeadSharing {
  int64_t chunks;  // being processed at a time
  int64_t held;    // rows of a chunk
};

// Either one worker after another, with all threads on each of its products; or, if every thread
// gets the same number of workers, one thread per worker, so that no thread waits for another
// inside a worker. With several workers chunks are smaller, and the same both ways, so their sums
// in double are the same too. Many threads would need much memory for their chunks.
HeadSharing sharing_of(const Context& context, int64_t workers, int64_t rows) {
  constexpr int64_t kMostChunks = 8;
  const int64_t threads = context.threads();
  const bool side_by_side = workers > 1 && workers % threads == 0 && threads <= kMostChunks;
  return {side_by_side ? threads : 1, std::min(rows, workers > 1 ? kHeadRows / 2 : kHeadRows)};
}

// Calls fn(n, chunk) for every chunk of rows of every worker, after chunk.begin().
template <class S, class Fn>
void for_chunks(Context& context, View<const S> x, int64_t vocabulary, View<const int32_t> targets,
                bool keeps_all, Fn&& fn) {
  backend::Workspace::Scope scope(context.workspace());
  const auto [count, held] = sharing_of(context, x.workers(), x.rows());
  std::vector<HeadChunk<S>> chunks;
  for (int64_t i = 0; i < count; ++i) {
    chunks.emplace_back(context, scope, held, vocabulary, keeps_all);
  }
  const auto worker = [&, held = held](int64_t n, HeadChunk<S>& chunk) {
    for (int64_t first = 0; first < x.rows(); first += held) {
      chunk.begin(targets, n, first, std::min(held, x.rows() - first));
      fn(n, chunk);
    }
  };
  if (count > 1) {
    return backend::parallel_tasks(context, x.workers(),
                                   [&](int64_t n, int thread) { worker(n, chunks[thread]); });
  }
  for (int64_t n = 0; n < x.workers(); ++n) worker(n, chunks[0]);
}

}  // namespace

template <class S>
void head_loss(Context& context, View<const S> x, View<const S> table, View<const int32_t> targets,
               View<S> losses) {
  check_shape(losses.same_shape(x.workers(), x.rows(), 1), "head_loss", "losses");
  for_chunks<S>(context, x, table.rows(), targets, false, [&](int64_t, HeadChunk<S>& chunk) {
    chunk.make_exponentials(x, table);
    chunk.write_losses(losses);
  });
}

template <class S>
void head_loss_and_gradient(Context& context, View<const S> x, View<const S> table,
                            View<const int32_t> targets, std::span<const double> weights,
                            View<S> losses, View<S> dx, View<S> dtable) {
  check_shape(losses.same_shape(x.workers(), x.rows(), 1), "head_loss_and_gradient", "losses");
  check_shape(dx.same_shape(x.workers(), x.rows(), x.cols()), "head_loss_and_gradient", "dx");
  for_chunks<S>(context, x, table.rows(), targets, true, [&](int64_t n, HeadChunk<S>& chunk) {
    chunk.make_exponentials(x, table);
    chunk.write_losses(losses);
    chunk.make_gradients(x, table, static_cast<Plane<S>>(weights[n]), dx, dtable);
  });
}

template <class S>
int64_t head_scratch(const Context& context, int64_t workers, int64_t rows, int64_t vocabulary,
                     bool gradient) {
  const auto [chunks, held] = sharing_of(context, workers, rows);
  return chunks * chunk_scratch<S>(held, vocabulary, gradient, context.threads());
}

#define SADDLE_INSTANTIATE(S)                                                             \
  template void head_loss<S>(Context&, View<const S>, View<const S>, View<const int32_t>, \
                             View<S>);                                                    \
  template int64_t head_scratch<S>(const Context&, int64_t, int64_t, int64_t, bool);
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S)                                                                    \
  template void head_loss_and_gradient<S>(Context&, View<const S>, View<const S>,                \
                                          View<const int32_t>, std::span<const double>, View<S>, \
                                          View<S>, View<S>);
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
