#include "ops/attention.h"

#include "ops/attention_wave.h"

namespace saddle::ops {
namespace {

template <class L>
void check(AttentionShape shape, View<const L> q, View<const L> k, View<const L> v,
           View<const L> o) {
  for (const View<const L>& x : {q, k, v, o}) {
    check_shape(
        x.same_shape(q.workers(), shape.sequences * shape.positions, shape.heads * shape.head_size),
        "attention", "q, k, v or o");
  }
}

// Scratch for scores and, where products take them in another type, for the same as operands.
template <class L>
struct ScoreMemory {
  ScoreMemory(backend::Workspace::Scope& scope, int64_t scores)
      : values(scratch<Arithmetic<L>>(scope, scores)) {
    if constexpr (std::is_same_v<L, Arithmetic<L>>) {
      operands = values;
    } else {
      operands = scratch<L>(scope, scores);
    }
  }

  Span<Arithmetic<L>> values;
  Span<L> operands;
};

// Where the adjoint of keys or values is summed over blocks of queries: in place, or in scratch if
// its type is only for storage.
template <class L>
class KeySums {
 public:
  using S = Arithmetic<L>;

  KeySums(backend::Workspace::Scope& scope, const Wave& wave, int64_t positions, int64_t head_size,
          View<L> target)
      : positions_(positions), heads_(matrices_of(target, wave, positions, head_size)) {
    if constexpr (std::is_same_v<L, S>) {
      sums_ = operand_of(target, wave, positions, head_size);
    } else {
      sums_ = operand_of(scratch<S>(scope, wave.items() * positions * head_size), wave, positions,
                         head_size);
    }
  }

  WaveOperand<S> sums() const { return sums_; }

  // To be called after the last sum.
  void store(Context& context, const Wave& wave) const {
    if constexpr (!std::is_same_v<L, S>) {
      for_rows(context,
               {"attention_store", 1, wave.items() * positions_, heads_.head_size,
                heads_.head_size * bytes_of<S, L>()},
               StoreHeads<L>{positions_, sums_.data, heads_});
    }
  }

 private:
  int64_t positions_;
  HeadMatrices<L> heads_;
  WaveOperand<S> sums_;
};

}  // namespace

template <class L>
void attention_forward(Context& context, AttentionShape shape, View<const L> q, View<const L> k,
                       View<const L> v, View<L> o) {
  check<L>(shape, q, k, v, o);
  using S = Arithmetic<L>;
  const int64_t T = shape.positions;
  const int64_t size = shape.head_size;
  for_waves(context, q.workers(), shape.sequences, shape.heads, query_blocks(T),
            [&](Context& lane, const Wave& wave, int64_t i) {
              const auto [first, rows] = query_block(T, i);
              const int64_t keys = first + rows;
              backend::Workspace::Scope scope(lane.workspace());
              const ScoreMemory<L> memory(scope, wave.items() * rows * keys);
              const ScoreSlab<S> p{memory.values, wave.items(), first, rows, keys};
              const ScoreSlab<L> operand{memory.operands, wave.items(), first, rows, keys};
              wave_probabilities<L>(lane, wave, size, operand_of(q, wave, T, size, first),
                                    operand_of(k, wave, T, size), p, operand);
              if (shape.round_probabilities) wave_round(lane, p, p);
              wave_product<L>(lane, wave, Transpose::kNo, Transpose::kNo, rows, size, keys, 1,
                              operand_of(operand, wave), operand_of(v, wave, T, size), 0,
                              operand_of(o, wave, T, size, first));
            });
}

template <class L>
void attention_adjoint(Context& context, AttentionShape shape, View<const L> q, View<const L> k,
                       View<const L> v, View<const L> d_o, View<L> dq, View<L> dk, View<L> dv) {
  check<L>(shape, q, k, v, d_o);
  check<L>(shape, q, dq, dk, dv);
  using S = Arithmetic<L>;
  const int64_t T = shape.positions;
  const int64_t size = shape.head_size;
  const auto scale = score_scale<L>(size);
  // Backwards from the last block, which sees every key and therefore writes all of dk and dv.
  const int64_t last = query_blocks(T) - 1;
  for_waves(context, q.workers(), shape.sequences, shape.heads, 1,
            [&](Context& lane, const Wave& wave, int64_t) {
              backend::Workspace::Scope scope(lane.workspace());
              const int64_t scores = wave.items() * std::min(kQueryRows, T) * T;
              const ScoreMemory<L> p_memory(scope, scores);
              const ScoreMemory<L> ds_memory(scope, scores);
              const KeySums<L> dk_sums(scope, wave, T, size, dk);
              const KeySums<L> dv_sums(scope, wave, T, size, dv);
              for (int64_t i = last; i >= 0; --i) {
                const auto [first, rows] = query_block(T, i);
                const int64_t keys = first + rows;
                const Scalar<L> old = i == last ? 0 : 1;
                const auto slab = [&, first = first, rows = rows]<class X>(Span<X> memory) {
                  return ScoreSlab<X>{memory, wave.items(), first, rows, keys};
                };
                const ScoreSlab<S> p = slab(p_memory.values);
                const ScoreSlab<L> p_operand = slab(p_memory.operands);
                const ScoreSlab<S> dp = slab(ds_memory.values);
                const ScoreSlab<L> ds = slab(ds_memory.operands);
                const WaveOperand<const L> ds_items = operand_of(ds, wave);
                const WaveOperand<const L> q_rows = operand_of(q, wave, T, size, first);
                const WaveOperand<const L> do_rows = operand_of(d_o, wave, T, size, first);
                wave_probabilities<L>(lane, wave, size, q_rows, operand_of(k, wave, T, size), p,
                                      p_operand);
                wave_product<L, S>(lane, wave, Transpose::kNo, Transpose::kYes, rows, keys, size, 1,
                                   do_rows, operand_of(v, wave, T, size), 0, operand_of(dp, wave));
                for_rows(lane, slab_rows("attention_softmax_adjoint", p, bytes_of<S, S, L>()),
                         SlabSoftmaxAdjoint<L>{p, dp, ds});
                if (shape.round_probabilities) wave_round(lane, p, p);
                wave_product<L, S>(lane, wave, Transpose::kYes, Transpose::kNo, keys, size, rows, 1,
                                   operand_of(p_operand, wave), do_rows, old, dv_sums.sums());
                wave_product<L>(lane, wave, Transpose::kNo, Transpose::kNo, rows, size, keys, scale,
                                ds_items, operand_of(k, wave, T, size), 0,
                                operand_of(dq, wave, T, size, first));
                wave_product<L, S>(lane, wave, Transpose::kYes, Transpose::kNo, keys, size, rows,
                                   scale, ds_items, q_rows, old, dk_sums.sums());
              }
              dk_sums.store(lane, wave);
              dv_sums.store(lane, wave);
            });
}

#define SADDLE_INSTANTIATE(L) template decltype(attention_forward<L>) attention_forward<L>;
SADDLE_FOR_FORWARD_STORAGE(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(L) template decltype(attention_adjoint<L>) attention_adjoint<L>;
SADDLE_FOR_ADJOINT_STORAGE(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
