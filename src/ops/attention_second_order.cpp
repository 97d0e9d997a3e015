#include "ops/attention_second_order.h"

#include "ops/attention_head.h"
#include "ops/second_order.h"

namespace saddle::ops {
namespace {

// A block of queries of one head: what all directions share, and room for one direction.
template <class T>
struct Block {
  int64_t first = 0;  // query
  int64_t rows = 0;
  int64_t keys = 0;   // first + rows
  Span<T> p{};        // [rows, keys]
  Span<T> rounded{};  // p as multiplied by the values; p itself unless it is rounded
  Span<T> ds{};       // [rows, keys]
  Span<T> s_t{};      // [rows, keys]; p_t later
  Span<T> small{};    // [rows, h]
};

// Numbers of scratch of one thread.
int64_t block_size(AttentionShape shape) {
  const int64_t rows = std::min(kQueryRows, shape.positions);
  return rows * ((shape.round_probabilities ? 4 : 3) * shape.positions + shape.head_size);
}

template <class T>
Block<T> block_at(AttentionShape shape, const QueryBlock& queries, Span<T> memory) {
  const int64_t rows = std::min(kQueryRows, shape.positions);
  const int64_t scores = rows * shape.positions;
  Block<T> block{queries.first, queries.rows, queries.keys};
  block.small = memory;
  block.p = memory.offset(rows * shape.head_size);
  block.ds = block.p.offset(scores);
  block.s_t = block.ds.offset(scores);
  block.rounded = shape.round_probabilities ? block.s_t.offset(scores) : block.p;
  return block;
}

// Turns s' of one query into p' and returns the term of the softmax.
template <class T>
T softmax_row_second_order(const T* p, const T* ds, int64_t seen, T* s_t) {
  T mean{}, first{}, second{};
  SADDLE_INDEPENDENT
  for (int64_t i = 0; i < seen; ++i) {
    mean += p[i] * s_t[i];
    first += ds[i] * s_t[i];
    second += ds[i] * s_t[i] * s_t[i];
  }
  SADDLE_INDEPENDENT
  for (int64_t i = 0; i < seen; ++i) s_t[i] = p[i] * (s_t[i] - mean);
  return second - 2 * mean * first;
}

// q, k, v, do of one head; tangents of one direction.
template <class T>
struct Heads {
  Head<const T> q, k, v, d_o;
};
template <class T>
struct TangentHeads {
  Head<const T> q, k, v;
  Head<T> o;
};

// p, rounded and ds.
template <class T>
void begin_block(Context& context, AttentionShape shape, const Heads<T>& at,
                 const Block<T>& block) {
  const int64_t keys = block.keys;
  probabilities<T>(context, shape, at.q, at.k, block.first, block.rows, block.p);
  product<T>(context, Transpose::kNo, Transpose::kYes, block.rows, keys, shape.head_size, 1,
             at.d_o.at(block.first), at.d_o.stride, at.v.at(0), at.v.stride, 0, block.ds, keys);
  for (int64_t r = 0; r < block.rows; ++r) {
    const Span<T> row = block.ds.offset(r * keys);
    const int64_t seen = block.first + r + 1;
    softmax_row_adjoint<T>(block.p.offset(r * keys), row, seen, row);
    clear_row<T>(row, seen, keys);
  }
  if (shape.round_probabilities) {
    std::copy_n(block.p.data, block.rows * keys, block.rounded.data);
    round_values<T>(block.rounded, block.rows * keys);
  }
}

// <small, x> over the rows of a block.
template <class T>
double small_dot(const Block<T>& block, int64_t size, Head<const T> x) {
  double sum = 0;
  for (int64_t r = 0; r < block.rows; ++r) {
    sum += row_dot<T>(block.small.data + r * size, x.at(block.first + r).data, size);
  }
  return sum;
}

// Writes o_t of the block's queries; returns their terms along one direction.
template <class T>
double sweep_block(Context& context, AttentionShape shape, const Heads<T>& at,
                   const TangentHeads<T>& t, const Block<T>& block) {
  const auto [first, rows, keys, p, rounded, ds, s_t, small] = block;
  const int64_t size = shape.head_size;
  const T scale = score_scale<T>(shape);
  product<T>(context, Transpose::kNo, Transpose::kYes, rows, keys, size, scale, t.q.at(first),
             t.q.stride, at.k.at(0), at.k.stride, 0, s_t, keys);
  product<T>(context, Transpose::kNo, Transpose::kYes, rows, keys, size, scale, at.q.at(first),
             at.q.stride, t.k.at(0), t.k.stride, 1, s_t, keys);
  double term = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t seen = first + r + 1;
    const int64_t begin = r * keys;
    term += static_cast<double>(
        softmax_row_second_order<T>(p.data + begin, ds.data + begin, seen, s_t.data + begin));
    clear_row<T>(s_t.offset(begin), seen, keys);
  }
  product<T>(context, Transpose::kNo, Transpose::kNo, rows, size, keys, 1, ds, keys, t.k.at(0),
             t.k.stride, 0, small, size);
  term += 2 * static_cast<double>(scale) * small_dot<T>(block, size, t.q);
  product<T>(context, Transpose::kNo, Transpose::kNo, rows, size, keys, 1, s_t, keys, t.v.at(0),
             t.v.stride, 0, small, size);
  term += 2 * small_dot<T>(block, size, at.d_o);
  product<T>(context, Transpose::kNo, Transpose::kNo, rows, size, keys, 1, s_t, keys, at.v.at(0),
             at.v.stride, 0, t.o.at(first), t.o.stride);
  product<T>(context, Transpose::kNo, Transpose::kNo, rows, size, keys, 1, rounded, keys, t.v.at(0),
             t.v.stride, 1, t.o.at(first), t.o.stride);
  return term;
}

}  // namespace

template <class T>
void attention_second_order(Context& context, AttentionShape shape, View<const T> q,
                            View<const T> k, View<const T> v, View<const T> d_o, View<const T> q_t,
                            View<const T> k_t, View<const T> v_t, View<T> o_t,
                            std::span<double> forms) {
  const int64_t rows = shape.sequences * shape.positions;
  const int64_t width = shape.heads * shape.head_size;
  const int64_t directions = q_t.workers();
  for (const View<const T>& x : {q, k, v, d_o}) {
    check_shape(x.same_shape(1, rows, width), "attention_second_order", "q, k, v or do");
  }
  for (const View<const T>& x : {q_t, k_t, v_t, View<const T>(o_t)}) {
    check_shape(x.same_shape(directions, rows, width), "attention_second_order", "a tangent");
  }
  backend::Workspace::Scope scope(context.workspace());
  const Span<T> all = scratch<T>(scope, context.threads() * block_size(shape));
  const int64_t heads = shape.sequences * shape.heads;
  const int64_t tasks = heads * query_blocks(shape);
  Terms terms(directions, tasks);
  backend::parallel_tasks(context, tasks, [&](int64_t task, int thread) {
    const QueryBlock queries = query_block(shape, heads, task);
    const int64_t head = queries.head;
    const Heads<T> at{head_of(q, shape, head), head_of(k, shape, head), head_of(v, shape, head),
                      head_of(d_o, shape, head)};
    const Block<T> block = block_at<T>(shape, queries, all.offset(thread * block_size(shape)));
    begin_block<T>(context, shape, at, block);
    for (int64_t g = 0; g < directions; ++g) {
      const int64_t tangent = g * heads + head;  // directions are on the worker axis
      terms.at(g, task) =
          sweep_block<T>(context, shape, at,
                         {head_of(q_t, shape, tangent), head_of(k_t, shape, tangent),
                          head_of(v_t, shape, tangent), head_of(o_t, shape, tangent)},
                         block);
    }
  });
  terms.add_to(forms);
}

template <class T>
int64_t attention_second_order_scratch(int threads, AttentionShape shape) {
  return scratch_bytes<T>(threads * block_size(shape));
}

#define SADDLE_INSTANTIATE(T)                                                               \
  template void attention_second_order<T>(                                                  \
      Context&, AttentionShape, View<const T>, View<const T>, View<const T>, View<const T>, \
      View<const T>, View<const T>, View<const T>, View<T>, std::span<double>);             \
  template int64_t attention_second_order_scratch<T>(int, AttentionShape);
SADDLE_INSTANTIATE(float)
SADDLE_INSTANTIATE(double)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
