#include "ops/attention_steps.h"

#include <cmath>

#include "ops/softmax_row.h"

namespace saddle::ops {
namespace {

template <class S>
struct Rows {
  Span<S> data;
  int64_t stride;
};

// One head of one sequence as a matrix [T, h], from a tensor [N, B*T, H*h].
template <class S>
Rows<S> head_of(View<S> x, AttentionShape shape, int64_t n, int64_t b, int64_t h) {
  return {x.row(n, b * shape.positions).offset(h * shape.head_size), x.row_stride()};
}

// The scores [T, T] of one head of one sequence.
template <class S>
Rows<S> scores_of(View<S> s, AttentionShape shape, int64_t n, int64_t b, int64_t h) {
  return {s.row(n, (b * shape.heads + h) * shape.positions), s.row_stride()};
}

template <class Fn>
void for_heads(AttentionShape shape, int64_t workers, Fn&& fn) {
  for (int64_t n = 0; n < workers; ++n) {
    for (int64_t b = 0; b < shape.sequences; ++b) {
      for (int64_t h = 0; h < shape.heads; ++h) fn(n, b, h);
    }
  }
}

// C = alpha op(A) op(B), written.
template <class S>
void multiply(Context& context, Transpose a, Transpose b, int64_t m, int64_t n, int64_t k,
              double alpha, Rows<const S> A, Rows<const S> B, Rows<S> C) {
  product<S>(context, a, b, m, n, k, static_cast<Plane<S>>(alpha), A.data, A.stride, B.data,
             B.stride, 0, C.data, C.stride);
}

double score_scale(AttentionShape shape) {
  return 1.0 / std::sqrt(static_cast<double>(shape.head_size));
}

}  // namespace

template <class S>
void attention_scores_forward(Context& context, AttentionShape shape, View<const S> q,
                              View<const S> k, View<S> s) {
  const int64_t T = shape.positions;
  for_heads(shape, q.workers(), [&](int64_t n, int64_t b, int64_t h) {
    multiply<S>(context, Transpose::kNo, Transpose::kYes, T, T, shape.head_size, score_scale(shape),
                head_of(q, shape, n, b, h), head_of(k, shape, n, b, h),
                scores_of(s, shape, n, b, h));
  });
}

template <class S>
void attention_scores_adjoint(Context& context, AttentionShape shape, View<const S> q,
                              View<const S> k, View<const S> ds, View<S> dq, View<S> dk) {
  const int64_t T = shape.positions;
  for_heads(shape, q.workers(), [&](int64_t n, int64_t b, int64_t h) {
    multiply<S>(context, Transpose::kNo, Transpose::kNo, T, shape.head_size, T, score_scale(shape),
                scores_of(ds, shape, n, b, h), head_of(k, shape, n, b, h),
                head_of(dq, shape, n, b, h));
    multiply<S>(context, Transpose::kYes, Transpose::kNo, T, shape.head_size, T, score_scale(shape),
                scores_of(ds, shape, n, b, h), head_of(q, shape, n, b, h),
                head_of(dk, shape, n, b, h));
  });
}

template <class S>
void causal_softmax_forward(Context& context, AttentionShape shape, View<const S> s, View<S> p) {
  for_rows(context, s.workers(), s.rows(), [&](int64_t n, int64_t row) {
    const int64_t seen = row % shape.positions + 1;
    const Span<S> out = p.row(n, row);
    softmax_row<S>(s.row(n, row), seen, out);
    clear_row<S>(out, seen, shape.positions);
  });
}

template <class S>
void causal_softmax_adjoint(Context& context, AttentionShape shape, View<const S> p,
                            View<const S> dp, View<S> ds) {
  for_rows(context, p.workers(), p.rows(), [&](int64_t n, int64_t row) {
    const int64_t seen = row % shape.positions + 1;
    const Span<S> out = ds.row(n, row);
    softmax_row_adjoint<S>(p.row(n, row), dp.row(n, row), seen, out);
    clear_row<S>(out, seen, shape.positions);
  });
}

template <class S>
void attention_values_forward(Context& context, AttentionShape shape, View<const S> p,
                              View<const S> v, View<S> o) {
  const int64_t T = shape.positions;
  for_heads(shape, v.workers(), [&](int64_t n, int64_t b, int64_t h) {
    multiply<S>(context, Transpose::kNo, Transpose::kNo, T, shape.head_size, T, 1,
                scores_of(p, shape, n, b, h), head_of(v, shape, n, b, h),
                head_of(o, shape, n, b, h));
  });
}

template <class S>
void attention_values_adjoint(Context& context, AttentionShape shape, View<const S> p,
                              View<const S> v, View<const S> d_o, View<S> dp, View<S> dv) {
  const int64_t T = shape.positions;
  for_heads(shape, v.workers(), [&](int64_t n, int64_t b, int64_t h) {
    multiply<S>(context, Transpose::kNo, Transpose::kYes, T, T, shape.head_size, 1,
                head_of(d_o, shape, n, b, h), head_of(v, shape, n, b, h),
                scores_of(dp, shape, n, b, h));
    multiply<S>(context, Transpose::kYes, Transpose::kNo, T, shape.head_size, T, 1,
                scores_of(p, shape, n, b, h), head_of(d_o, shape, n, b, h),
                head_of(dv, shape, n, b, h));
  });
}

#define SADDLE_INSTANTIATE(S)                                                                \
  template void attention_scores_forward<S>(Context&, AttentionShape, View<const S>,         \
                                            View<const S>, View<S>);                         \
  template void causal_softmax_forward<S>(Context&, AttentionShape, View<const S>, View<S>); \
  template void attention_values_forward<S>(Context&, AttentionShape, View<const S>,         \
                                            View<const S>, View<S>);
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S)                                                                     \
  template void attention_scores_adjoint<S>(Context&, AttentionShape, View<const S>,              \
                                            View<const S>, View<const S>, View<S>, View<S>);      \
  template void causal_softmax_adjoint<S>(Context&, AttentionShape, View<const S>, View<const S>, \
                                          View<S>);                                               \
  template void attention_values_adjoint<S>(Context&, AttentionShape, View<const S>,              \
                                            View<const S>, View<const S>, View<S>, View<S>);
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
