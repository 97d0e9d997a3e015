// Row bodies of attention, over slabs of scores [items][queries][keys]: row i of the loop is query
// i % queries of item i / queries, and an item is one head of one sequence.
#pragma once

#include "ops/second_order_rows.h"
#include "ops/softmax_row.h"

namespace saddle::ops {

// A slab, and what its queries see: query r is at position first + r.
template <class S>
struct ScoreSlab {
  tensor::Span<S> data;
  int64_t items = 0;
  int64_t first = 0;
  int64_t queries = 0;
  int64_t keys = 0;

  constexpr int64_t rows() const { return items * queries; }
  constexpr tensor::Span<S> row(int64_t i) const { return data.offset(i * keys); }
  constexpr int64_t seen(int64_t i) const { return first + i % queries + 1; }
};

// Scores become probabilities, 0 for keys that a query does not see. `operand` is the same slab as
// an operand of products.
template <class L>
struct SlabSoftmax {
  ScoreSlab<num::Arithmetic<L>> slab;
  ScoreSlab<L> operand;

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t i) const {
    softmax_row<L>(group, slab.row(i), slab.seen(i), slab.keys, slab.row(i), operand.row(i));
  }
};

// From the adjoint of the probabilities to that of the scores, which may be in the same memory.
template <class L>
struct SlabSoftmaxAdjoint {
  ScoreSlab<num::Arithmetic<L>> p, dp;
  ScoreSlab<L> ds;

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t i) const {
    softmax_row_adjoint<L>(group, p.row(i), dp.row(i), p.seen(i), p.keys, ds.row(i));
  }
};

// Rounds values to bf16 and copies derivatives; numbers over double are copied. `to` may be `from`.
template <class S>
struct SlabRound {
  ScoreSlab<S> from, to;

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t i) const {
    const tensor::Span<S> source = from.row(i);
    const tensor::Span<S> target = to.row(i);
    SADDLE_INDEPENDENT
    for (int64_t c = group.index(); c < from.keys; c += Group::kCount) {
      target.store(c, num::with_value_rounded_to_bf16(source.load(c)));
    }
  }
};

// Turns s' into p' and writes the term of the softmax.
template <class T>
struct SlabSoftmaxSecondOrder {
  ScoreSlab<T> p, ds, s_t;
  double* terms;  // [rows]

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t i) const {
    const T* probability = p.row(i).data;
    const T* adjoint = ds.row(i).data;
    T* tangent = s_t.row(i).data;
    const int64_t seen = p.seen(i);
    T mean{}, first{}, second{};
    SADDLE_INDEPENDENT
    for (int64_t c = group.index(); c < seen; c += Group::kCount) {
      mean += probability[c] * tangent[c];
      first += adjoint[c] * tangent[c];
      second += adjoint[c] * tangent[c] * tangent[c];
    }
    mean = group.sum(mean);
    first = group.sum(first);
    second = group.sum(second);
    SADDLE_INDEPENDENT
    for (int64_t c = group.index(); c < seen; c += Group::kCount) {
      tangent[c] = probability[c] * (tangent[c] - mean);
    }
    clear_row<T>(group, s_t.row(i), seen, s_t.keys);
    if (group.first()) terms[i] = static_cast<double>(second - 2 * mean * first);
  }
};

// Some heads of a tensor [sequences][positions][heads h] from one position on, as matrices.
template <class S>
struct HeadMatrices {
  tensor::Span<S> data;
  int64_t position_stride = 0;
  int64_t sequence_stride = 0;
  int64_t head_size = 0;
  int64_t heads = 0;

  constexpr tensor::Span<S> row(int64_t item, int64_t r) const {
    return data.offset(item / heads * sequence_stride + r * position_stride +
                       item % heads * head_size);
  }
};

// Stores sums [items][positions][h] as the heads of a tensor; row i of the loop is position
// i % positions of item i / positions.
template <class L>
struct StoreHeads {
  int64_t positions;
  tensor::Span<const num::Arithmetic<L>> sums;
  HeadMatrices<L> heads;

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t i) const {
    const tensor::Span<const num::Arithmetic<L>> from = sums.offset(i * heads.head_size);
    const tensor::Span<L> to = heads.row(i / positions, i % positions);
    SADDLE_INDEPENDENT
    for (int64_t c = group.index(); c < heads.head_size; c += Group::kCount) {
      to.store(c, from.load(c));
    }
  }
};

// terms[i] += factor <a_i, x_i> for the queries of all items; a [items][queries][h].
template <class T>
struct SlabDot {
  int64_t queries;
  const T* a;
  HeadMatrices<const T> x;
  double factor;
  double* terms;

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t i) const {
    const double dot = group.sum(
        lane_dot(group, a + i * x.head_size, x.row(i / queries, i % queries).data, x.head_size));
    if (group.first()) terms[i] += factor * dot;
  }
};

// Causal softmax over stored scores [N, B*H*T, T], forward and adjoint.
template <class S>
struct CausalSoftmaxRow {
  int64_t positions;
  tensor::View<const S> s;
  tensor::View<S> p;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t row) const {
    softmax_row<S>(group, s.row(n, row), row % positions + 1, positions, p.row(n, row), {});
  }
};

template <class S>
struct CausalSoftmaxAdjointRow {
  int64_t positions;
  tensor::View<const S> p, dp;
  tensor::View<S> ds;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t row) const {
    softmax_row_adjoint<S>(group, p.row(n, row), dp.row(n, row), row % positions + 1, positions,
                           ds.row(n, row));
  }
};

}  // namespace saddle::ops
