// One head of one sequence, and its probabilities, computed for a block of queries at a time.
// Internal to ops/attention.h and ops/attention_second_order.h.
#pragma once

#include <cmath>

#include "ops/attention.h"
#include "ops/softmax_row.h"

namespace saddle::ops {

// One head of one sequence of one worker.
template <class S>
struct Head {
  Span<S> data;
  int64_t stride;  // from one position to the next

  Span<S> at(int64_t position) const { return data.offset(position * stride); }
};

template <class S>
Head<S> head_of(View<S> x, AttentionShape shape, int64_t task) {
  const int64_t h = task % shape.heads;
  const int64_t b = task / shape.heads % shape.sequences;
  const int64_t n = task / shape.heads / shape.sequences;
  return {x.row(n, b * shape.positions).offset(h * shape.head_size), x.row_stride()};
}

template <class S>
Plane<S> score_scale(AttentionShape shape) {
  return static_cast<Plane<S>>(1.0 / std::sqrt(static_cast<double>(shape.head_size)));
}

// Writes the probabilities of the queries [first, first + rows) to p [rows, keys], keys = first +
// rows.
template <class S>
void probabilities(Context& context, AttentionShape shape, Head<const S> q, Head<const S> k,
                   int64_t first, int64_t rows, Span<S> p) {
  const int64_t keys = first + rows;
  product<S>(context, Transpose::kNo, Transpose::kYes, rows, keys, shape.head_size,
             score_scale<S>(shape), q.at(first), q.stride, k.at(0), k.stride, 0, p, keys);
  for (int64_t r = 0; r < rows; ++r) {
    const Span<S> row = p.offset(r * keys);
    const int64_t seen = first + r + 1;
    softmax_row<S>(row, seen, row);
    clear_row<S>(row, seen, keys);
  }
}

// A block of queries of one head as a task, for work whose results no two blocks share. Blocks that
// see many keys have the lowest numbers, so that only small tasks are left at the end.
struct QueryBlock {
  int64_t head = 0;   // as head_of() counts
  int64_t first = 0;  // query
  int64_t rows = 0;
  int64_t keys = 0;  // visible keys: first + rows
};

inline int64_t query_blocks(AttentionShape shape) {
  return (shape.positions + kQueryRows - 1) / kQueryRows;
}

// Task `task` of heads * query_blocks(shape).
inline QueryBlock query_block(AttentionShape shape, int64_t heads, int64_t task) {
  QueryBlock block;
  block.head = task % heads;
  block.first = (query_blocks(shape) - 1 - task / heads) * kQueryRows;
  block.rows = std::min(kQueryRows, shape.positions - block.first);
  block.keys = block.first + block.rows;
  return block;
}

// Rounds to bf16; numbers over double are unchanged.
template <class S>
void round_values(Span<S> x, int64_t count) {
  if constexpr (std::is_same_v<Plane<S>, float>) {
    for (int64_t i = 0; i < count; ++i) x.data[i] = num::round_to_bf16(x.data[i]);
  }
}

}  // namespace saddle::ops
