// Row bodies of ops/reduce.h: sums of pieces, then the sum of the pieces in order.
#pragma once

#include "num/number_types.h"
#include "num/wide.h"
#include "ops/group.h"
#include "tensor/view.h"

namespace saddle::ops {

inline constexpr int64_t kReducedPiece = 4096;

// Row i of the loop is piece i % pieces of row i / pieces of x.
template <class T>
struct DotPiece {
  tensor::View<const T> x, y;
  tensor::View<double> parts;  // [N, rows * pieces, 1]: written

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t i) const {
    const int64_t pieces = (x.cols() + kReducedPiece - 1) / kReducedPiece;
    const int64_t first = i % pieces * kReducedPiece;
    const int64_t end = first + kReducedPiece < x.cols() ? first + kReducedPiece : x.cols();
    const T* a = x.row(n, i / pieces).data;
    const T* b = y.row(n, i / pieces).data;
    double part = 0;
    for (int64_t c = first + group.index(); c < end; c += Group::kCount) {
      part += static_cast<double>(a[c]) * static_cast<double>(b[c]);
    }
    part = group.sum(part);
    if (group.first()) parts.row(n, i).store(0, part);
  }
};

template <class S>
struct SumPiece {
  tensor::View<const S> x;
  tensor::View<num::Wide<S>> parts;  // [N, rows * pieces, 1]: written

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t i) const {
    const int64_t pieces = (x.cols() + kReducedPiece - 1) / kReducedPiece;
    const int64_t first = i % pieces * kReducedPiece;
    const int64_t end = first + kReducedPiece < x.cols() ? first + kReducedPiece : x.cols();
    const tensor::Span<const S> a = x.row(n, i / pieces);
    num::Wide<S> part{};
    for (int64_t c = first + group.index(); c < end; c += Group::kCount) {
      part += num::convert<num::Wide<S>>(a.load(c));
    }
    part = group.sum(part);
    if (group.first()) parts.row(n, i).store(0, part);
  }
};

// What becomes of a sum: total = factor sum, or total += factor sum.
struct Total {
  bool accumulate = false;
  double factor = 1;
};

// The sum of the parts of a worker, in order.
template <class W>
struct SumParts {
  tensor::View<const W> parts;  // [N, count, 1]
  Total how;
  tensor::View<W> totals;  // [N, 1, 1]

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t) const {
    W total{};
    for (int64_t i = group.index(); i < parts.rows(); i += Group::kCount) {
      total += parts.row(n, i).load(0);
    }
    total = group.sum(total) * how.factor;
    if (!group.first()) return;
    const tensor::Span<W> out = totals.row(n, 0);
    out.store(0, how.accumulate ? out.load(0) + total : total);
  }
};

}  // namespace saddle::ops
