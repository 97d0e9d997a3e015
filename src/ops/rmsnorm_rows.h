// Row bodies of ops/rmsnorm.h.
#pragma once

#include "num/number_types.h"
#include "num/wide.h"
#include "ops/group.h"
#include "ops/second_order_rows.h"
#include "tensor/view.h"

namespace saddle::ops {

// Rows whose part of the gain's gradient is summed together, for any number of threads.
inline constexpr int64_t kGainRows = 64;

// Reads x and gain and writes y through load and store of numbers S; returns r.
template <class S, class Group, class X, class Gain, class Y>
constexpr S normalize_row(Group group, X x, Gain gain, int64_t cols, num::Plane<S> eps, Y&& y) {
  S sum{};
  SADDLE_INDEPENDENT
  for (int64_t c = group.index(); c < cols; c += Group::kCount) sum += x.load(c) * x.load(c);
  const S r = num::rsqrt(group.sum(sum) / num::Plane<S>(cols) + eps);
  SADDLE_INDEPENDENT
  for (int64_t c = group.index(); c < cols; c += Group::kCount) {
    y.store(c, x.load(c) * r * gain.load(c));
  }
  return r;
}

template <class L>
struct NormRow {
  using S = num::Arithmetic<L>;
  tensor::View<const S> x, gain;
  num::Plane<S> eps;
  tensor::View<L> y;
  tensor::View<S> r;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t m) const {
    const S row = normalize_row<S>(group, x.row(n, m), gain.row(n, 0), x.cols(), eps, y.row(n, m));
    if (group.first()) r.row(n, m).store(0, row);
  }
};

template <class L>
struct ResidualNormRow {
  using S = num::Arithmetic<L>;
  tensor::View<const S> x;
  tensor::View<const L> delta;
  tensor::View<const S> gain;
  num::Plane<S> eps;
  tensor::View<S> x_new;
  tensor::View<L> y;
  tensor::View<S> r;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t m) const {
    const int64_t cols = x.cols();
    const tensor::Span<const S> old = x.row(n, m);
    const tensor::Span<const L> change = delta.row(n, m);
    const tensor::Span<S> sum = x_new.row(n, m);
    SADDLE_INDEPENDENT
    for (int64_t c = group.index(); c < cols; c += Group::kCount) {
      sum.store(c, old.load(c) + change.load(c));
    }
    const S row = normalize_row<S>(group, sum, gain.row(n, 0), cols, eps, y.row(n, m));
    if (group.first()) r.row(n, m).store(0, row);
  }
};

// The adjoint of kGainRows rows, in order: one group keeps them all, so that the sums of the gain's
// gradient have a fixed order. Row `block` of the loop is a block of rows of x.
template <class L>
struct NormAdjointRows {
  using S = num::Arithmetic<L>;
  tensor::View<const S> x, gain, r;
  tensor::View<const L> dy;
  tensor::View<S> dx;
  tensor::View<S> partial;     // [N, blocks, C]: written
  tensor::View<L> dx_operand;  // written unless empty; always empty if L is S

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t block) const {
    const int64_t cols = x.cols();
    const tensor::Span<S> sum = partial.row(n, block);
    for (int64_t c = group.index(); c < cols; c += Group::kCount) sum.store(c, S{});
    const int64_t first = block * kGainRows;
    const int64_t end = first + kGainRows < x.rows() ? first + kGainRows : x.rows();
    for (int64_t m = first; m < end; ++m) {
      row(group, x.row(n, m), gain.row(n, 0), r.row(n, m).load(0), dy.row(n, m), dx.row(n, m), sum);
      if constexpr (!std::is_same_v<L, S>) {
        if (!dx_operand.empty()) copy_row(group, dx.row(n, m), dx_operand.row(n, m));
      }
    }
  }

  template <class Group>
  constexpr void row(Group group, tensor::Span<const S> x_row, tensor::Span<const S> g, S scale,
                     tensor::Span<const L> dy_row, tensor::Span<S> dx_row,
                     tensor::Span<S> dgain) const {
    const int64_t cols = x.cols();
    S dot{};
    SADDLE_INDEPENDENT
    for (int64_t c = group.index(); c < cols; c += Group::kCount) {
      dot += dy_row.load(c) * g.load(c) * x_row.load(c);
    }
    const S mean = group.sum(dot) * scale * scale / num::Plane<S>(cols);
    SADDLE_INDEPENDENT
    for (int64_t c = group.index(); c < cols; c += Group::kCount) {
      dx_row.add(c, scale * (dy_row.load(c) * g.load(c) - x_row.load(c) * mean));
      dgain.add(c, dy_row.load(c) * x_row.load(c) * scale);
    }
  }

  // Each lane copies the numbers that it wrote.
  template <class Group>
  constexpr void copy_row(Group group, tensor::Span<const S> from, tensor::Span<L> to) const {
    const int64_t cols = x.cols();
    SADDLE_INDEPENDENT
    for (int64_t c = group.index(); c < cols; c += Group::kCount) to.store(c, from.load(c));
  }
};

// Adds the partial sums of one column of the gain's gradient, in double. Row c is a column.
template <class S>
struct NormGainColumn {
  tensor::View<const S> partial;  // [N, blocks, C]
  tensor::View<S> dgain;          // [N, 1, C]

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t c) const {
    num::Wide<S> total{};
    for (int64_t block = group.index(); block < partial.rows(); block += Group::kCount) {
      total += num::convert<num::Wide<S>>(partial.row(n, block).load(c));
    }
    total = group.sum(total);
    if (group.first()) dgain.row(n, 0).add(c, num::convert<S>(total));
  }
};

// Row m along direction g.
template <class T>
struct NormSecondOrderRow {
  tensor::View<const T> x, gain;
  T eps;
  tensor::View<const T> dy, x_t, gain_t;
  tensor::View<T> y_t;
  tensor::View<double> terms;  // [G, M, 1]: written

  template <class Group>
  constexpr void operator()(Group group, int64_t g, int64_t m) const {
    TermSink<T> y{y_t.row(g, m).data, dy.row(0, m).data};
    normalize_row<num::Jet<T>>(group, tangent_row(x, x_t, g, m), tangent_row(gain, gain_t, g, 0),
                               x.cols(), eps, y);
    const auto term = static_cast<double>(group.sum(y.term));
    if (group.first()) terms.row(g, m).store(0, term);
  }
};

}  // namespace saddle::ops
