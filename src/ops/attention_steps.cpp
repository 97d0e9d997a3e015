#include "ops/attention_steps.h"

#include "ops/attention_wave.h"

namespace saddle::ops {
namespace {

// All heads of all sequences of each worker.
template <class Fn>
void for_workers(AttentionShape shape, int64_t workers, Fn&& fn) {
  for (int64_t n = 0; n < workers; ++n) fn(Wave{n, 0, shape.sequences, 0, shape.heads});
}

// [T, h] of each head, from a tensor [N, B*T, H*h].
template <class S>
WaveOperand<S> heads_of(View<S> x, AttentionShape shape, const Wave& wave) {
  return operand_of(x, wave, shape.positions, shape.head_size);
}

// [T, T] of each head, from a tensor [N, B*H*T, T].
template <class S>
WaveOperand<S> scores_of(View<S> s, AttentionShape shape, const Wave& wave) {
  const int64_t head = shape.positions * s.row_stride();
  return {s.row(wave.worker, 0), s.row_stride(), shape.heads * head, head};
}

template <class S>
void check_heads(View<const S> x, AttentionShape shape, int64_t workers, const char* operation) {
  check_shape(
      x.same_shape(workers, shape.sequences * shape.positions, shape.heads * shape.head_size),
      operation, "q, k, v, o or an adjoint");
}
template <class S>
void check_scores(View<const S> s, AttentionShape shape, int64_t workers, const char* operation) {
  check_shape(
      s.same_shape(workers, shape.sequences * shape.heads * shape.positions, shape.positions),
      operation, "scores, probabilities or an adjoint");
}

}  // namespace

template <class S>
void attention_scores_forward(Context& context, AttentionShape shape, View<const S> q,
                              View<const S> k, View<S> s) {
  for (const View<const S>& x : {q, k}) check_heads(x, shape, q.workers(), "attention_scores");
  check_scores<S>(s, shape, q.workers(), "attention_scores");
  const int64_t T = shape.positions;
  for_workers(shape, q.workers(), [&](const Wave& wave) {
    wave_product<S>(context, wave, Transpose::kNo, Transpose::kYes, T, T, shape.head_size,
                    score_scale<S>(shape.head_size), heads_of(q, shape, wave),
                    heads_of(k, shape, wave), 0, scores_of(s, shape, wave));
  });
}

template <class S>
void attention_scores_adjoint(Context& context, AttentionShape shape, View<const S> q,
                              View<const S> k, View<const S> ds, View<S> dq, View<S> dk) {
  for (const View<const S>& x : {q, k, View<const S>(dq), View<const S>(dk)}) {
    check_heads(x, shape, q.workers(), "attention_scores_adjoint");
  }
  check_scores<S>(ds, shape, q.workers(), "attention_scores_adjoint");
  const int64_t T = shape.positions;
  const auto scale = score_scale<S>(shape.head_size);
  for_workers(shape, q.workers(), [&](const Wave& wave) {
    wave_product<S>(context, wave, Transpose::kNo, Transpose::kNo, T, shape.head_size, T, scale,
                    scores_of(ds, shape, wave), heads_of(k, shape, wave), 0,
                    heads_of(dq, shape, wave));
    wave_product<S>(context, wave, Transpose::kYes, Transpose::kNo, T, shape.head_size, T, scale,
                    scores_of(ds, shape, wave), heads_of(q, shape, wave), 0,
                    heads_of(dk, shape, wave));
  });
}

template <class S>
void causal_softmax_forward(Context& context, AttentionShape shape, View<const S> s, View<S> p) {
  for (const View<const S>& x : {s, View<const S>(p)}) {
    check_scores(x, shape, s.workers(), "causal_softmax");
  }
  for_rows(context,
           {"causal_softmax", s.workers(), s.rows(), s.cols(), 2 * s.cols() * bytes_of<S>()},
           CausalSoftmaxRow<S>{shape.positions, s, p});
}

template <class S>
void causal_softmax_adjoint(Context& context, AttentionShape shape, View<const S> p,
                            View<const S> dp, View<S> ds) {
  for (const View<const S>& x : {p, dp, View<const S>(ds)}) {
    check_scores(x, shape, p.workers(), "causal_softmax_adjoint");
  }
  for_rows(
      context,
      {"causal_softmax_adjoint", p.workers(), p.rows(), p.cols(), 3 * p.cols() * bytes_of<S>()},
      CausalSoftmaxAdjointRow<S>{shape.positions, p, dp, ds});
}

template <class S>
void attention_values_forward(Context& context, AttentionShape shape, View<const S> p,
                              View<const S> v, View<S> o) {
  for (const View<const S>& x : {v, View<const S>(o)}) {
    check_heads(x, shape, v.workers(), "attention_values");
  }
  check_scores(p, shape, v.workers(), "attention_values");
  const int64_t T = shape.positions;
  for_workers(shape, v.workers(), [&](const Wave& wave) {
    wave_product<S>(context, wave, Transpose::kNo, Transpose::kNo, T, shape.head_size, T, 1,
                    scores_of(p, shape, wave), heads_of(v, shape, wave), 0,
                    heads_of(o, shape, wave));
  });
}

template <class S>
void attention_values_adjoint(Context& context, AttentionShape shape, View<const S> p,
                              View<const S> v, View<const S> d_o, View<S> dp, View<S> dv) {
  for (const View<const S>& x : {v, d_o, View<const S>(dv)}) {
    check_heads(x, shape, v.workers(), "attention_values_adjoint");
  }
  for (const View<const S>& x : {p, View<const S>(dp)}) {
    check_scores(x, shape, v.workers(), "attention_values_adjoint");
  }
  const int64_t T = shape.positions;
  for_workers(shape, v.workers(), [&](const Wave& wave) {
    wave_product<S>(context, wave, Transpose::kNo, Transpose::kYes, T, T, shape.head_size, 1,
                    heads_of(d_o, shape, wave), heads_of(v, shape, wave), 0,
                    scores_of(dp, shape, wave));
    wave_product<S>(context, wave, Transpose::kYes, Transpose::kNo, T, shape.head_size, T, 1,
                    scores_of(p, shape, wave), heads_of(d_o, shape, wave), 0,
                    heads_of(dv, shape, wave));
  });
}

#define SADDLE_INSTANTIATE(S)                                                 \
  template decltype(attention_scores_forward<S>) attention_scores_forward<S>; \
  template decltype(causal_softmax_forward<S>) causal_softmax_forward<S>;     \
  template decltype(attention_values_forward<S>) attention_values_forward<S>;
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S)                                                 \
  template decltype(attention_scores_adjoint<S>) attention_scores_adjoint<S>; \
  template decltype(causal_softmax_adjoint<S>) causal_softmax_adjoint<S>;     \
  template decltype(attention_values_adjoint<S>) attention_values_adjoint<S>;
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
