#include "ops/attention.h"

#include "ops/attention_wave.h"

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
  const int64_t T = shape.positions;
  const int64_t size = shape.head_size;
  for_waves(context, q.workers(), shape.sequences, shape.heads, query_blocks(T),
            [&](Context& lane, const Wave& wave, int64_t i) {
              const auto [first, rows] = query_block(T, i);
              const int64_t keys = first + rows;
              backend::Workspace::Scope scope(lane.workspace());
              const ScoreSlab<S> p{scratch<S>(scope, wave.items() * rows * keys), wave.items(),
                                   first, rows, keys};
              wave_probabilities<S>(lane, wave, size, operand_of(q, wave, T, size, first),
                                    operand_of(k, wave, T, size), p);
              if (shape.round_probabilities) wave_round(lane, p, p);
              wave_product<S>(lane, wave, Transpose::kNo, Transpose::kNo, rows, size, keys, 1,
                              operand_of(p, wave), operand_of(v, wave, T, size), 0,
                              operand_of(o, wave, T, size, first));
            });
}

template <class S>
void attention_adjoint(Context& context, AttentionShape shape, View<const S> q, View<const S> k,
                       View<const S> v, View<const S> d_o, View<S> dq, View<S> dk, View<S> dv) {
  check<S>(shape, q, k, v, d_o);
  check<S>(shape, q, dq, dk, dv);
  const int64_t T = shape.positions;
  const int64_t size = shape.head_size;
  const auto scale = score_scale<S>(size);
  // Backwards from the last block, which sees every key and therefore writes all of dk and dv.
  const int64_t last = query_blocks(T) - 1;
  for_waves(context, q.workers(), shape.sequences, shape.heads, 1,
            [&](Context& lane, const Wave& wave, int64_t) {
              backend::Workspace::Scope scope(lane.workspace());
              const int64_t scores = wave.items() * std::min(kQueryRows, T) * T;
              const Span<S> p_memory = scratch<S>(scope, scores);
              const Span<S> ds_memory = scratch<S>(scope, scores);
              for (int64_t i = last; i >= 0; --i) {
                const auto [first, rows] = query_block(T, i);
                const int64_t keys = first + rows;
                const Plane<S> old = i == last ? 0 : 1;
                const ScoreSlab<S> p{p_memory, wave.items(), first, rows, keys};
                const ScoreSlab<S> ds{ds_memory, wave.items(), first, rows, keys};
                const WaveOperand<const S> p_items = operand_of(p, wave);
                const WaveOperand<const S> ds_items = operand_of(ds, wave);
                const WaveOperand<const S> do_rows = operand_of(d_o, wave, T, size, first);
                wave_probabilities<S>(lane, wave, size, operand_of(q, wave, T, size, first),
                                      operand_of(k, wave, T, size), p);
                wave_product<S>(lane, wave, Transpose::kNo, Transpose::kYes, rows, keys, size, 1,
                                do_rows, operand_of(v, wave, T, size), 0, operand_of(ds, wave));
                for_rows(lane, slab_rows("attention_softmax_adjoint", p, 3),
                         SlabSoftmaxAdjoint<S>{p, ds});
                if (shape.round_probabilities) wave_round(lane, p, p);
                wave_product<S>(lane, wave, Transpose::kYes, Transpose::kNo, keys, size, rows, 1,
                                p_items, do_rows, old, operand_of(dv, wave, T, size));
                wave_product<S>(lane, wave, Transpose::kNo, Transpose::kNo, rows, size, keys, scale,
                                ds_items, operand_of(k, wave, T, size), 0,
                                operand_of(dq, wave, T, size, first));
                wave_product<S>(lane, wave, Transpose::kYes, Transpose::kNo, keys, size, rows,
                                scale, ds_items, operand_of(q, wave, T, size, first), old,
                                operand_of(dk, wave, T, size));
              }
            });
}

#define SADDLE_INSTANTIATE(S) template decltype(attention_forward<S>) attention_forward<S>;
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S) template decltype(attention_adjoint<S>) attention_adjoint<S>;
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
