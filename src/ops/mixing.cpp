#include "ops/mixing.h"

#include "ops/adamw_constants.h"
#include "ops/mixing_rows.h"
#include "ops/reduce.h"

namespace saddle::ops {
namespace {

// Calls fn(lane, columns) for blocks of the columns [begin, end), with memory for N blocks.
//
// On the processor each thread takes consecutive blocks: two threads that alternate in the same
// pages of memory are several times slower. A block is long enough to read and write memory in long
// runs, worker by worker, and short enough that a core's cache holds those of about four workers.
template <class T, class Fn>
void for_columns(Context& context, int64_t workers, int64_t begin, int64_t end, Fn&& fn) {
  const int64_t size = context.on_host() ? 16384 : int64_t{1} << 20;
  const int64_t shares = context.threads();
  const int64_t blocks = (end - begin + size - 1) / size;
  backend::parallel_tasks(context, shares, [&](Context& lane, int64_t share) {
    backend::Workspace::Scope scope(lane.workspace());
    T* memory = scope.take<T>(workers * size);
    for (int64_t block = blocks * share / shares; block < blocks * (share + 1) / shares; ++block) {
      const int64_t first = begin + block * size;
      fn(lane, MixedColumns<T>{first, std::min(size, end - first), memory, size});
    }
  });
}

template <class T>
void mix_columns(Context& context, View<const double> matrix, View<const T> x,
                 const MixedColumns<T>& columns) {
  for_rows(context,
           {"mix", 1, columns.rows(), kMixedSums, 2 * x.workers() * kMixedSums * bytes_of<T>()},
           MixColumns<T>{matrix, x, columns});
}

template <class T>
void store_columns(Context& context, const MixedColumns<T>& columns, View<const double> commit,
                   View<T> x) {
  for_rows(context,
           {"mix_store", x.workers(), columns.rows(), kMixedSums, 2 * kMixedSums * bytes_of<T>()},
           StoreColumns<T>{columns, commit, x});
}

// The matrix in device memory.
View<const double> device_matrix(Context& context, backend::Workspace::Scope& scope,
                                 std::span<const double> matrix, int64_t workers) {
  check_shape(static_cast<int64_t>(matrix.size()) == workers * workers, "mixing", "the matrix");
  const View<double> on_device = scratch_view<double>(scope, 1, workers, workers);
  backend::copy_from_host<double>(context, matrix.data(), 0, on_device);
  return on_device;
}

}  // namespace

template <class T>
void mix(Context& context, std::span<const double> matrix, View<T> x) {
  check_shape(x.rows() == 1, "mix", "an arena");
  backend::Workspace::Scope scope(context.workspace());
  const View<const double> rows = device_matrix(context, scope, matrix, x.workers());
  for_columns<T>(context, x.workers(), 0, x.cols(),
                 [&](Context& lane, const MixedColumns<T>& columns) {
                   mix_columns<T>(lane, rows, x, columns);
                   store_columns<T>(lane, columns, {}, x);
                 });
}

template <class T>
void adamw_update_mixed(Context& context, AdamWStep step, const Mixing& mixing,
                        std::span<const AdamWSegment> segments, AdamWInput input,
                        View<const T> gradients, View<T> weights, View<T> first_moments,
                        View<T> second_moments) {
  const int64_t workers = weights.workers();
  const AdamWArenas<T> at{gradients, weights, first_moments, second_moments};
  const AdamWConstants<T> constants = adamw_constants<T>(step);
  const bool before = mixing.order == Mixing::Order::kBeforeStep;
  backend::Workspace::Scope scope(context.workspace());
  const View<const double> matrix = device_matrix(context, scope, mixing.matrix, workers);
  for (const AdamWSegment& segment : segments) {
    for_columns<T>(
        context, workers, segment.offset, segment.offset + segment.size,
        [&](Context& lane, const MixedColumns<T>& columns) {
          if (before) mix_columns<T>(lane, matrix, weights, columns);
          for_rows(lane,
                   {"adamw_columns", workers, 1, columns.count, 7 * columns.count * bytes_of<T>()},
                   AdamWColumns<T>{constants, segment.decays, before, columns, input.scales,
                                   input.commit, at});
          if (before) return;
          mix_columns<T>(lane, matrix, weights, columns);
          store_columns<T>(lane, columns, input.commit, weights);
        });
  }
}

template <class T>
void worker_mean(Context& context, View<const T> x, View<T> y) {
  check_shape(x.rows() == 1 && y.same_shape(1, 1, x.cols()), "worker_mean", "an arena");
  const int64_t blocks = (x.cols() + kMixedSums - 1) / kMixedSums;
  for_rows(context,
           {"worker_mean", 1, blocks, kMixedSums, (x.workers() + 1) * kMixedSums * bytes_of<T>()},
           WorkerMeanColumns<T>{x, y});
}

template <class T>
void consensus_distance(Context& context, View<const T> x, View<double> distance) {
  check_shape(x.rows() == 1, "consensus_distance", "an arena");
  check_shape(distance.same_shape(1, 1, 1), "consensus_distance", "the result");
  const int64_t blocks = (x.cols() + kMixedSums - 1) / kMixedSums;
  backend::Workspace::Scope scope(context.workspace());
  const View<double> parts = scratch_view<double>(scope, 1, blocks, 1);
  for_rows(context,
           {"consensus", 1, blocks, kMixedSums, 2 * x.workers() * kMixedSums * bytes_of<T>()},
           ConsensusColumns<T>{x, parts});
  sum<double>(context, parts, distance);
}

#define SADDLE_INSTANTIATE(T)                                     \
  template decltype(mix<T>) mix<T>;                               \
  template decltype(adamw_update_mixed<T>) adamw_update_mixed<T>; \
  template decltype(worker_mean<T>) worker_mean<T>;               \
  template decltype(consensus_distance<T>) consensus_distance<T>;
SADDLE_INSTANTIATE(float)
SADDLE_INSTANTIATE(double)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
