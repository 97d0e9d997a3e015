#include "ops/attention.h"

#include "ops/attention_head.h"

namespace saddle::ops {
namespace {

template <class S>
void check(AttentionShape shape, View<const S> q, View<const S> k, View<const S> v,
           View<const S> o) {
  for (const View<const S>& x : {q, k, v, o}) {
    check_shape(
        x.same_shape(q.workers(), shape.sequences * shape.positions, shape.heads * shape.head_size),
        "attention", "q, k, v or o");
  }
}

}  // namespace

template <class S>
void attention_forward(Context& context, AttentionShape shape, View<const S> q, View<const S> k,
                       View<const S> v, View<S> o) {
  check<S>(shape, q, k, v, o);
  const int64_t positions = shape.positions;
  const int64_t scores = std::min(kQueryRows, positions) * positions;
  backend::Workspace::Scope scope(context.workspace());
  const Span<S> all = scratch<S>(scope, context.threads() * scores);

  const int64_t heads = q.workers() * shape.sequences * shape.heads;
  backend::parallel_tasks(context, heads * query_blocks(shape), [&](int64_t task, int thread) {
    const auto [head, first, rows, keys] = query_block(shape, heads, task);
    const Head<const S> v_head = head_of(v, shape, head);
    const Head<S> o_head = head_of(o, shape, head);
    const Span<S> p = all.offset(thread * scores);
    probabilities(context, shape, head_of(q, shape, head), head_of(k, shape, head), first, rows, p);
    if (shape.round_probabilities) round_values(p, rows * keys);
    product<S>(context, Transpose::kNo, Transpose::kNo, rows, shape.head_size, keys, 1, p, keys,
               v_head.at(0), v_head.stride, 0, o_head.at(first), o_head.stride);
  });
}

template <class S>
void attention_adjoint(Context& context, AttentionShape shape, View<const S> q, View<const S> k,
                       View<const S> v, View<const S> d_o, View<S> dq, View<S> dk, View<S> dv) {
  check<S>(shape, q, k, v, d_o);
  check<S>(shape, q, dq, dk, dv);
  const int64_t positions = shape.positions;
  const int64_t size = shape.head_size;
  const int64_t scores = std::min(kQueryRows, positions) * positions;
  const auto scale = score_scale<S>(shape);
  backend::Workspace::Scope scope(context.workspace());
  const Span<S> all = scratch<S>(scope, context.threads() * 2 * scores);

  const int64_t tasks = q.workers() * shape.sequences * shape.heads;
  backend::parallel_tasks(context, tasks, [&](int64_t task, int thread) {
    const Head<const S> q_head = head_of(q, shape, task);
    const Head<const S> k_head = head_of(k, shape, task);
    const Head<const S> v_head = head_of(v, shape, task);
    const Head<const S> do_head = head_of(d_o, shape, task);
    const Head<S> dq_head = head_of(dq, shape, task);
    const Head<S> dk_head = head_of(dk, shape, task);
    const Head<S> dv_head = head_of(dv, shape, task);
    const Span<S> p = all.offset(thread * 2 * scores);
    const Span<S> ds = p.offset(scores);

    // Backwards from the last block, which sees every key and therefore writes all of dk and dv.
    const int64_t blocks = (positions + kQueryRows - 1) / kQueryRows;
    for (int64_t block = blocks - 1; block >= 0; --block) {
      const int64_t first = block * kQueryRows;
      const int64_t rows = std::min(kQueryRows, positions - first);
      const int64_t keys = first + rows;
      const Plane<S> old = block == blocks - 1 ? 0 : 1;
      probabilities(context, shape, q_head, k_head, first, rows, p);
      product<S>(context, Transpose::kNo, Transpose::kYes, rows, keys, size, 1, do_head.at(first),
                 do_head.stride, v_head.at(0), v_head.stride, 0, ds, keys);
      for (int64_t r = 0; r < rows; ++r) {
        const Span<S> row = ds.offset(r * keys);
        const int64_t seen = first + r + 1;
        softmax_row_adjoint<S>(p.offset(r * keys), row, seen, row);
        clear_row<S>(row, seen, keys);
      }
      if (shape.round_probabilities) round_values(p, rows * keys);
      product<S>(context, Transpose::kYes, Transpose::kNo, keys, size, rows, 1, p, keys,
                 do_head.at(first), do_head.stride, old, dv_head.at(0), dv_head.stride);
      product<S>(context, Transpose::kNo, Transpose::kNo, rows, size, keys, scale, ds, keys,
                 k_head.at(0), k_head.stride, 0, dq_head.at(first), dq_head.stride);
      product<S>(context, Transpose::kYes, Transpose::kNo, keys, size, rows, scale, ds, keys,
                 q_head.at(first), q_head.stride, old, dk_head.at(0), dk_head.stride);
    }
  });
}

template <class S>
int64_t attention_scratch(int threads, AttentionShape shape) {
  return scratch_bytes<S>(threads * 2 * std::min(kQueryRows, shape.positions) * shape.positions);
}

#define SADDLE_INSTANTIATE(S)                                                                \
  template void attention_forward<S>(Context&, AttentionShape, View<const S>, View<const S>, \
                                     View<const S>, View<S>);                                \
  template int64_t attention_scratch<S>(int, AttentionShape);
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S)                                                                \
  template void attention_adjoint<S>(Context&, AttentionShape, View<const S>, View<const S>, \
                                     View<const S>, View<const S>, View<S>, View<S>, View<S>);
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
