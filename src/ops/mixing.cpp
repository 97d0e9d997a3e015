#include "ops/mixing.h"

#include <algorithm>
#include <cmath>

#include "ops/adamw_row.h"

namespace saddle::ops {
namespace {

// Columns that are mixed at a time: enough to read and write memory in long runs, worker by worker,
// and few enough that a core's cache holds those of about four workers.
constexpr int64_t kMixedColumns = 16384;
// Columns that are summed at a time.
constexpr int64_t kSums = 512;

// The nonzero entries of W, row by row, so that a row of a one-peer topology costs two entries, and
// which rows equal the previous row, so that complete mixing costs one row.
class SparseRows {
 public:
  SparseRows(std::span<const double> matrix, int64_t workers) : workers_(workers) {
    check_shape(static_cast<int64_t>(matrix.size()) == workers * workers, "mixing", "the matrix");
    for (int64_t i = 0; i < workers; ++i) {
      begins_.push_back(entries_.size());
      for (int64_t j = 0; j < workers; ++j) {
        const double weight = matrix[static_cast<size_t>(i * workers + j)];
        if (weight != 0) entries_.push_back({j, weight});
      }
    }
    begins_.push_back(entries_.size());
    repeats_.push_back(false);
    for (int64_t i = 1; i < workers; ++i) {
      const auto before = matrix.subspan(static_cast<size_t>((i - 1) * workers));
      repeats_.push_back(
          std::equal(before.begin(), before.begin() + workers, before.begin() + workers));
    }
  }

  // Writes mixed [N, kMixedColumns] from columns [first, first + count) of x.
  template <class T>
  void apply(View<const T> x, int64_t first, int64_t count, T* mixed) const {
    for (int64_t i = 0; i < workers_; ++i) {
      T* to = mixed + i * kMixedColumns;
      if (repeats_[static_cast<size_t>(i)]) {
        std::copy_n(to - kMixedColumns, count, to);
        continue;
      }
      for (int64_t at = 0; at < count; at += kSums) {
        sum_row<T>(static_cast<size_t>(i), x, first + at, std::min(kSums, count - at), to + at);
      }
    }
  }

 private:
  struct Entry {
    int64_t worker;
    double weight;
  };

  // The fused multiply-add is explicit, because the compiler would use a different one for the last
  // few columns: the sum of a column must not depend on where its block begins.
  template <class T>
  void sum_row(size_t i, View<const T> x, int64_t first, int64_t count, T* to) const {
    double sum[kSums] = {};
    for (size_t e = begins_[i]; e < begins_[i + 1]; ++e) {
      const T* from = x.row(entries_[e].worker, 0).data + first;
      const double weight = entries_[e].weight;
      for (int64_t c = 0; c < count; ++c)
        sum[c] = std::fma(weight, static_cast<double>(from[c]), sum[c]);
    }
    for (int64_t c = 0; c < count; ++c) to[c] = static_cast<T>(sum[c]);
  }

  int64_t workers_;
  std::vector<Entry> entries_;
  std::vector<size_t> begins_;
  std::vector<bool> repeats_;
};

template <class T>
void store(const T* mixed, int64_t first, int64_t count, View<T> x) {
  for (int64_t n = 0; n < x.workers(); ++n) {
    std::copy_n(mixed + n * kMixedColumns, count, x.row(n, 0).data + first);
  }
}

// Calls fn(first, count, memory) for blocks of the columns [begin, end), with memory for N blocks.
// Each thread takes consecutive blocks: two threads that alternate in the same pages of memory are
// several times slower.
template <class T, class Fn>
void for_blocks(Context& context, int64_t workers, int64_t begin, int64_t end, Fn&& fn) {
  backend::Workspace::Scope scope(context.workspace());
  const int64_t shares = context.threads();
  T* memory = scope.take<T>(shares * workers * kMixedColumns);
  const int64_t blocks = (end - begin + kMixedColumns - 1) / kMixedColumns;
  backend::parallel_tasks(context, shares, [&](int64_t share, int) {
    for (int64_t block = blocks * share / shares; block < blocks * (share + 1) / shares; ++block) {
      const int64_t first = begin + block * kMixedColumns;
      fn(first, std::min(kMixedColumns, end - first), memory + share * workers * kMixedColumns);
    }
  });
}

void check_row(bool fits, const char* operation) {
  check_shape(fits, operation, "an arena");
}

}  // namespace

template <class T>
void mix(Context& context, std::span<const double> matrix, View<T> x) {
  check_row(x.rows() == 1, "mix");
  const SparseRows rows(matrix, x.workers());
  for_blocks<T>(context, x.workers(), 0, x.cols(), [&](int64_t first, int64_t count, T* mixed) {
    rows.apply<T>(x, first, count, mixed);
    store(mixed, first, count, x);
  });
}

template <class T>
void adamw_update_mixed(Context& context, AdamWStep step, const Mixing& mixing,
                        std::span<const AdamWSegment> segments, std::span<const double> scales,
                        View<const T> gradients, View<T> weights, View<T> first_moments,
                        View<T> second_moments) {
  const int64_t workers = weights.workers();
  if (workers == 1 || mixing.matrix.empty()) {
    return adamw_update<T>(context, step, segments, scales, gradients, weights, first_moments,
                           second_moments);
  }
  const SparseRows rows(mixing.matrix, workers);
  const AdamWConstants<T> constants(step);
  const bool before = mixing.order == Mixing::Order::kBeforeStep;
  for (const AdamWSegment& segment : segments) {
    const T keep = constants.keep(segment);
    for_blocks<T>(context, workers, segment.offset, segment.offset + segment.size,
                  [&](int64_t first, int64_t count, T* mixed) {
                    if (before) rows.apply<T>(weights, first, count, mixed);
                    for (int64_t n = 0; n < workers; ++n) {
                      T* w = weights.row(n, 0).data + first;
                      adamw_row<T>(constants, keep, static_cast<T>(scales[static_cast<size_t>(n)]),
                                   count, gradients.row(n, 0).data + first,
                                   before ? mixed + n * kMixedColumns : w, w,
                                   first_moments.row(n, 0).data + first,
                                   second_moments.row(n, 0).data + first);
                    }
                    if (before) return;
                    rows.apply<T>(weights, first, count, mixed);
                    store(mixed, first, count, weights);
                  });
  }
}

template <class T>
void worker_mean(Context& context, View<const T> x, View<T> y) {
  check_row(x.rows() == 1 && y.same_shape(1, 1, x.cols()), "worker_mean");
  const int64_t blocks = (x.cols() + kSums - 1) / kSums;
  backend::parallel_for(context, blocks, [&](int64_t block) {
    const int64_t first = block * kSums;
    const int64_t count = std::min(kSums, x.cols() - first);
    double sum[kSums] = {};
    for (int64_t n = 0; n < x.workers(); ++n) {
      const T* from = x.row(n, 0).data + first;
      for (int64_t c = 0; c < count; ++c) sum[c] += static_cast<double>(from[c]);
    }
    T* to = y.row(0, 0).data + first;
    const auto workers = static_cast<double>(x.workers());
    for (int64_t c = 0; c < count; ++c) to[c] = static_cast<T>(sum[c] / workers);
  });
}

template <class T>
double consensus_distance(Context& context, View<const T> x) {
  check_row(x.rows() == 1, "consensus_distance");
  const int64_t blocks = (x.cols() + kSums - 1) / kSums;
  std::vector<double> parts(static_cast<size_t>(blocks));
  const auto workers = static_cast<double>(x.workers());
  backend::parallel_for(context, blocks, [&](int64_t block) {
    const int64_t first = block * kSums;
    const int64_t count = std::min(kSums, x.cols() - first);
    double mean[kSums] = {};
    for (int64_t n = 0; n < x.workers(); ++n) {
      const T* from = x.row(n, 0).data + first;
      for (int64_t c = 0; c < count; ++c) mean[c] += static_cast<double>(from[c]) / workers;
    }
    double part = 0;
    for (int64_t n = 0; n < x.workers(); ++n) {
      const T* from = x.row(n, 0).data + first;
      for (int64_t c = 0; c < count; ++c) {
        const double difference = static_cast<double>(from[c]) - mean[c];
        part += difference * difference;
      }
    }
    parts[static_cast<size_t>(block)] = part;
  });
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum / workers;
}

#define SADDLE_INSTANTIATE(T)                                                                 \
  template void mix<T>(Context&, std::span<const double>, View<T>);                           \
  template void adamw_update_mixed<T>(Context&, AdamWStep, const Mixing&,                     \
                                      std::span<const AdamWSegment>, std::span<const double>, \
                                      View<const T>, View<T>, View<T>, View<T>);              \
  template void worker_mean<T>(Context&, View<const T>, View<T>);                             \
  template double consensus_distance<T>(Context&, View<const T>);
SADDLE_INSTANTIATE(float)
SADDLE_INSTANTIATE(double)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
