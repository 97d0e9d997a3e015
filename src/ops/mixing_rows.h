// Row bodies of ops/mixing.h.
#pragma once

#include <cmath>

#include "ops/adamw_rows.h"
#include "ops/group.h"
#include "tensor/view.h"

namespace saddle::ops {

// Columns that are summed at a time.
inline constexpr int64_t kMixedSums = 512;

// Columns [first, first + count) of every worker: x, and room for their mixed values.
template <class T>
struct MixedColumns {
  int64_t first = 0;
  int64_t count = 0;
  T* mixed = nullptr;  // [N][stride]
  int64_t stride = 0;

  // Row i of a loop is kMixedSums of them.
  constexpr int64_t rows() const { return (count + kMixedSums - 1) / kMixedSums; }
  constexpr int64_t begin(int64_t i) const { return i * kMixedSums; }
  constexpr int64_t size(int64_t i) const {
    return count - begin(i) < kMixedSums ? count - begin(i) : kMixedSums;
  }
};

// Whether rows i and i - 1 of the matrix are equal, so that worker i has the result of i - 1.
constexpr bool repeats_row(tensor::View<const double> matrix, int64_t i) {
  if (i == 0) return false;
  for (int64_t j = 0; j < matrix.cols(); ++j) {
    if (matrix.row(0, i).load(j) != matrix.row(0, i - 1).load(j)) return false;
  }
  return true;
}

// mixed_i = sum_j W_ij x_j for some columns. Zeros of W are passed over, so that a row of a
// one-peer topology costs two entries, and rows that equal the row before are copied, so that
// complete mixing costs one row.
template <class T>
struct MixColumns {
  tensor::View<const double> matrix;  // [1, N, N]
  tensor::View<const T> x;            // [N, 1, D]
  MixedColumns<T> columns;

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t i) const {
    const int64_t begin = columns.begin(i);
    const int64_t count = columns.size(i);
    for (int64_t worker = 0; worker < x.workers(); ++worker) {
      T* to = columns.mixed + worker * columns.stride + begin;
      if (repeats_row(matrix, worker)) {
        const T* from = to - columns.stride;
        for (int64_t c = group.index(); c < count; c += Group::kCount) to[c] = from[c];
      } else {
        mix_row(group, worker, columns.first + begin, count, to);
      }
    }
  }

  // The fused multiply-add is explicit, because the compiler would use a different one for the last
  // few columns: the sum of a column must not depend on where its block begins.
  template <class Group>
  constexpr void mix_row(Group group, int64_t worker, int64_t first, int64_t count, T* to) const {
    const double* weights = matrix.row(0, worker).data;
    double sum[(kMixedSums + Group::kCount - 1) / Group::kCount] = {};
    for (int64_t j = 0; j < x.workers(); ++j) {
      const double weight = weights[j];
      if (weight == 0) continue;
      const T* from = x.row(j, 0).data + first;
      for (int64_t c = group.index(), at = 0; c < count; c += Group::kCount, ++at) {
        sum[at] = std::fma(weight, static_cast<double>(from[c]), sum[at]);
      }
    }
    for (int64_t c = group.index(), at = 0; c < count; c += Group::kCount, ++at) {
      to[c] = static_cast<T>(sum[at]);
    }
  }
};

// x = mixed, for worker n.
template <class T>
struct StoreColumns {
  MixedColumns<T> columns;
  tensor::View<const double> commit;  // as in AdamWColumns
  tensor::View<T> x;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t i) const {
    if (!may_commit(commit)) return;
    const T* from = columns.mixed + n * columns.stride + columns.begin(i);
    T* to = x.row(n, 0).data + columns.first + columns.begin(i);
    for (int64_t c = group.index(); c < columns.size(i); c += Group::kCount) to[c] = from[c];
  }
};

// AdamW of some columns of worker n, from the mixed weights if `mixed_before`.
template <class T>
struct AdamWColumns {
  AdamWConstants<T> constants;
  bool decays;
  bool mixed_before;
  MixedColumns<T> columns;
  tensor::View<const double> scales, commit;
  AdamWArenas<T> at;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t) const {
    if (!may_commit(commit)) return;
    const int64_t first = columns.first;
    T* w = at.weights.row(n, 0).data + first;
    adamw_row<T>(group, constants, decays, static_cast<T>(scales.row(n, 0).load(0)), columns.count,
                 at.gradients.row(n, 0).data + first,
                 mixed_before ? columns.mixed + n * columns.stride : w, w,
                 at.first_moments.row(n, 0).data + first, at.second_moments.row(n, 0).data + first);
  }
};

// Column sums over workers, kMixedSums columns at a time.
template <class T>
struct WorkerMeanColumns {
  tensor::View<const T> x;  // [N, 1, D]
  tensor::View<T> y;        // [1, 1, D]: written

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t i) const {
    const int64_t first = i * kMixedSums;
    const int64_t count = x.cols() - first < kMixedSums ? x.cols() - first : kMixedSums;
    double sum[(kMixedSums + Group::kCount - 1) / Group::kCount] = {};
    for (int64_t n = 0; n < x.workers(); ++n) {
      const T* from = x.row(n, 0).data + first;
      for (int64_t c = group.index(), at = 0; c < count; c += Group::kCount, ++at) {
        sum[at] += static_cast<double>(from[c]);
      }
    }
    T* to = y.row(0, 0).data + first;
    const auto workers = static_cast<double>(x.workers());
    for (int64_t c = group.index(), at = 0; c < count; c += Group::kCount, ++at) {
      to[c] = static_cast<T>(sum[at] / workers);
    }
  }
};

// parts_i = (1/N) sum_n |x_n - mean|^2 over these columns.
template <class T>
struct ConsensusColumns {
  tensor::View<const T> x;     // [N, 1, D]
  tensor::View<double> parts;  // [1, blocks, 1]: written

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t i) const {
    const int64_t first = i * kMixedSums;
    const int64_t count = x.cols() - first < kMixedSums ? x.cols() - first : kMixedSums;
    const auto workers = static_cast<double>(x.workers());
    double mean[(kMixedSums + Group::kCount - 1) / Group::kCount] = {};
    for (int64_t n = 0; n < x.workers(); ++n) {
      const T* from = x.row(n, 0).data + first;
      for (int64_t c = group.index(), at = 0; c < count; c += Group::kCount, ++at) {
        mean[at] += static_cast<double>(from[c]) / workers;
      }
    }
    double part = 0;
    for (int64_t n = 0; n < x.workers(); ++n) {
      const T* from = x.row(n, 0).data + first;
      for (int64_t c = group.index(), at = 0; c < count; c += Group::kCount, ++at) {
        const double difference = static_cast<double>(from[c]) - mean[at];
        part += difference * difference;
      }
    }
    part = group.sum(part) / workers;
    if (group.first()) parts.row(0, i).store(0, part);
  }
};

}  // namespace saddle::ops
