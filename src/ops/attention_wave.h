// Attention in waves: some heads of some sequences at a time, by batched products over slabs of
// scores and loops over their rows. A wave is one head for a thread of the processor, whose scores
// then stay in its cache, and many heads on another device. Internal to the attention operations.
#pragma once

#include <cmath>

#include "ops/attention.h"
#include "ops/attention_rows.h"

namespace saddle::ops {

// Heads [first_head, first_head + heads) of sequences [first_sequence, first_sequence + sequences)
// of one worker.
struct Wave {
  int64_t worker = 0;
  int64_t first_sequence = 0;
  int64_t sequences = 1;
  int64_t first_head = 0;
  int64_t heads = 1;

  int64_t items() const { return sequences * heads; }
  Wave of_worker(int64_t n) const {
    Wave wave = *this;
    wave.worker = n;
    return wave;
  }
};

// Queries of a wave whose scores are held together.
struct QueryBlock {
  int64_t first = 0;
  int64_t rows = 0;
};

inline int64_t query_blocks(int64_t queries) {
  return (queries + kQueryRows - 1) / kQueryRows;
}
inline QueryBlock query_block(int64_t queries, int64_t index) {
  const int64_t first = index * kQueryRows;
  return {first, std::min(kQueryRows, queries - first)};
}

// fn(lane, wave, i) for every wave of every worker and every i < pieces, largest i first, so that
// on the processor only small pieces are left at the end if pieces grow with i.
template <class Fn>
void for_waves(Context& context, int64_t workers, int64_t sequences, int64_t heads, int64_t pieces,
               Fn&& fn) {
  if (context.on_host()) {
    const int64_t items = workers * sequences * heads;
    return backend::parallel_tasks(context, items * pieces, [&](Context& lane, int64_t task) {
      const int64_t item = task % items;
      const Wave wave{.worker = item / heads / sequences,
                      .first_sequence = item / heads % sequences,
                      .first_head = item % heads};
      fn(lane, wave, pieces - 1 - task / items);
    });
  }
  constexpr int64_t kItems = 64;  // of a wave, about
  const int64_t together = std::clamp<int64_t>(kItems / heads, 1, sequences);
  for (int64_t i = pieces - 1; i >= 0; --i) {
    for (int64_t n = 0; n < workers; ++n) {
      for (int64_t b = 0; b < sequences; b += together) {
        fn(context, Wave{n, b, std::min(together, sequences - b), 0, heads}, i);
      }
    }
  }
}

// One operand of the products of a wave: a matrix for each item.
template <class S>
struct WaveOperand {
  Span<S> data;
  int64_t stride = 0;  // from one row to the next
  int64_t sequence_stride = 0;
  int64_t head_stride = 0;

  operator WaveOperand<const S>() const  // NOLINT: reading
      requires(!std::is_const_v<S>) {
    return {data, stride, sequence_stride, head_stride};
  }
};

// The heads of a wave in x [N, sequences * positions, heads * head_size], from a position on.
template <class S>
HeadMatrices<S> matrices_of(View<S> x, const Wave& wave, int64_t positions, int64_t head_size,
                            int64_t first = 0) {
  return {x.row(wave.worker, wave.first_sequence * positions + first)
              .offset(wave.first_head * head_size),
          x.row_stride(), positions * x.row_stride(), head_size, wave.heads};
}
template <class S>
WaveOperand<S> operand_of(View<S> x, const Wave& wave, int64_t positions, int64_t head_size,
                          int64_t first = 0) {
  const HeadMatrices<S> at = matrices_of(x, wave, positions, head_size, first);
  return {at.data, at.position_stride, at.sequence_stride, head_size};
}

// A contiguous matrix [rows, cols] for each item.
template <class S>
WaveOperand<S> operand_of(Span<S> x, const Wave& wave, int64_t rows, int64_t cols) {
  return {x, cols, wave.heads * rows * cols, rows * cols};
}
template <class S>
WaveOperand<S> operand_of(const ScoreSlab<S>& slab, const Wave& wave) {
  return operand_of(slab.data, wave, slab.queries, slab.keys);
}

// C = alpha op(A) op(B) + beta C for each item.
template <class L, class R = L>
void wave_product(Context& context, const Wave& wave, Transpose a, Transpose b, int64_t m,
                  int64_t n, int64_t k, Scalar<L> alpha, WaveOperand<const L> A,
                  WaveOperand<const L> B, Scalar<L> beta, WaveOperand<R> C) {
  const GemmBatch batch({wave.sequences, A.sequence_stride, B.sequence_stride, C.sequence_stride},
                        {wave.heads, A.head_stride, B.head_stride, C.head_stride});
  products<L, R>(context, batch, a, b, m, n, k, alpha, A.data, A.stride, B.data, B.stride, beta,
                 C.data, C.stride);
}

// 1 / sqrt(h), which multiplies the scores.
template <class S>
Scalar<S> score_scale(int64_t head_size) {
  return static_cast<Scalar<S>>(1.0 / std::sqrt(static_cast<double>(head_size)));
}

// A loop over the rows of a slab; `bytes`: of each score that the body reads and writes.
template <class S>
Rows slab_rows(const char* name, const ScoreSlab<S>& slab, int64_t bytes) {
  return {name, 1, slab.rows(), slab.keys, slab.keys * bytes};
}

// Writes the probabilities of queries over the keys; the slab says which keys they see. `operand`
// is p itself unless L is only for storage.
template <class L>
void wave_probabilities(Context& context, const Wave& wave, int64_t head_size,
                        WaveOperand<const L> q, WaveOperand<const L> k,
                        const ScoreSlab<Arithmetic<L>>& p, const ScoreSlab<L>& operand) {
  using S = Arithmetic<L>;
  wave_product<L, S>(context, wave, Transpose::kNo, Transpose::kYes, p.queries, p.keys, head_size,
                     score_scale<S>(head_size), q, k, 0, operand_of(p, wave));
  const int64_t bytes = bytes_of<S, S>() + (std::is_same_v<L, S> ? 0 : bytes_of<L>());
  for_rows(context, slab_rows("attention_softmax", p, bytes), SlabSoftmax<L>{p, operand});
}

template <class S>
void wave_round(Context& context, const ScoreSlab<S>& from, const ScoreSlab<S>& to) {
  for_rows(context, slab_rows("attention_round", from, bytes_of<S, S>()), SlabRound<S>{from, to});
}

}  // namespace saddle::ops
