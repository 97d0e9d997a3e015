// The buffers of a plan for one batch shape. Tensors that are not needed at the same time share a
// buffer, unless the plan keeps every adjoint.
//
// S is the number type, L the type in which operands of products are stored (ops/common.h).
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "config/settings.h"
#include "model/buffers.h"

namespace saddle::model {

// What a plan keeps.
enum class Keep {
  kNothing,      // losses only: one set of activations serves all blocks
  kActivations,  // of every block, for the adjoint, except those that are cheap to recompute; one
                 // set of adjoints serves all blocks
  kAdjoints,     // also of every operation of every block
};

// The activations of one block that its adjoint needs. R = rows of a worker, [N, R, ...]. With
// kActivations all blocks share one buffer for normed tensors and one for the output of swiglu, and
// the adjoint recomputes them (as Chen et al., "Training deep nets with sublinear memory cost",
// 2016, do for whole layers).
template <class L>
struct BlockBuffers {
  using S = num::Arithmetic<L>;
  tensor::View<S> x;                      // the residual stream: the block's input
  tensor::View<S> attention_inverse_rms;  // of its rows, [N, R, 1]
  tensor::View<L> attention_input;        // the same, normed
  tensor::View<L> qkv;                    // projections, rotated by rope
  tensor::View<L> attended;               // the output of attention
  tensor::View<S> middle;                 // the residual stream after attention
  tensor::View<S> ffn_inverse_rms;        // of its rows, [N, R, 1]
  tensor::View<L> ffn_input;              // the same, normed
  tensor::View<L> gate_up;                // projections
  tensor::View<L> activated;              // the output of swiglu
};

// Adjoints of the outputs of a block's operations, in the order in which they are computed.
template <class L>
struct BlockAdjoints {
  using S = num::Arithmetic<L>;
  tensor::View<S> out;              // of the block
  tensor::View<L> d_down;           // the same, as that of the down projection
  tensor::View<L> activated;        // of swiglu
  tensor::View<L> gate_up;          // of these projections
  tensor::View<L> ffn_input;        // of the second norm
  tensor::View<S> middle;           // of the residual stream after attention
  tensor::View<L> d_attention;      // the same, as that of the projection of attention's output
  tensor::View<L> attended;         // of attention
  tensor::View<L> qkv;              // of these projections, before rope once the adjoint is done
  tensor::View<L> attention_input;  // of the first norm
  tensor::View<S> x;                // of the block's input
};

template <class L>
struct PlanBuffers {
  using S = num::Arithmetic<L>;
  std::vector<BlockBuffers<L>> blocks;
  tensor::View<S> final_stream,
      final_inverse_rms;  // the residual stream after all blocks; its inverse rms
  tensor::View<L> final_normed;
  tensor::View<L> branch;  // the output of a block's last projection, before the residual sum
  tensor::View<S> losses;
  std::vector<BlockAdjoints<L>> adjoints;
  tensor::View<L> d_final_normed;
};

// Lays out the buffers for `sequences` sequences of each of `workers` workers. kAdjoints: only
// where L is S.
template <class L>
PlanBuffers<L> lay_out(Buffers& buffers, const config::ModelSettings& model, int64_t workers,
                       int64_t sequences, Keep keep) {
  using S = num::Arithmetic<L>;
  const int64_t rows = sequences * model.context_length;
  const auto take = [&](int64_t cols) { return buffers.take<L>(workers, rows, cols); };
  const auto take_operand = [&] { return take(model.width); };
  const auto take_stream = [&] { return buffers.take<S>(workers, rows, model.width); };
  const auto take_column = [&] { return buffers.take<S>(workers, rows, 1); };
  PlanBuffers<L> at;
  for (int64_t i = 0; i < model.layers; ++i) {
    if (i > 0 && keep == Keep::kNothing) {
      at.blocks.push_back(at.blocks[0]);
      continue;
    }
    const BlockBuffers<L>* shared =
        i > 0 && keep == Keep::kActivations ? &at.blocks.front() : nullptr;
    BlockBuffers<L> b;
    b.x = take_stream();
    b.attention_input = shared ? shared->attention_input : take_operand();
    b.attention_inverse_rms = take_column();
    b.qkv = take(3 * model.width);
    b.attended = take_operand();
    b.middle = take_stream();
    b.ffn_input = keep == Keep::kAdjoints ? take_operand() : b.attention_input;
    b.ffn_inverse_rms = take_column();
    b.gate_up = take(2 * model.ffn_width);
    b.activated = shared ? shared->activated : take(model.ffn_width);
    at.blocks.push_back(b);
  }
  at.final_stream = take_stream();
  at.final_normed = take_operand();
  at.final_inverse_rms = take_column();
  at.branch = take_operand();
  at.losses = take_column();
  if (keep == Keep::kNothing) return at;

  at.d_final_normed = take_operand();
  tensor::View<S> stream = take_stream();  // adjoint of the residual stream
  // The same as an operand of products.
  const auto operand_of = [&]([[maybe_unused]] tensor::View<S> of) {
    if constexpr (std::is_same_v<L, S>) {
      return of;
    } else {
      return at.adjoints.empty() ? take_operand() : at.adjoints[0].d_down;
    }
  };
  for (int64_t i = 0; i < model.layers; ++i) {
    BlockAdjoints<L> d;
    if (keep == Keep::kAdjoints) {
      d.x = stream;
      d.qkv = take(3 * model.width);
      d.gate_up = take(2 * model.ffn_width);
      d.activated = take(model.ffn_width);
      d.attention_input = take_operand();
      d.attended = take_operand();
      d.middle = take_stream();
      d.ffn_input = take_operand();
      d.out = stream = take_stream();  // the input of the next block
    } else {
      d.x = d.middle = d.out = stream;
      d.attention_input = d.attended = d.ffn_input = at.d_final_normed;
      d.qkv = i == 0 ? take(3 * model.width) : at.adjoints[0].qkv;
      // Adjoints overwrite their own activations, which are no longer needed.
      d.gate_up = at.blocks[i].gate_up;
      d.activated = at.blocks[i].activated;
    }
    d.d_down = operand_of(d.out);
    d.d_attention = std::is_same_v<L, S> ? operand_of(d.middle) : d.d_down;
    at.adjoints.push_back(d);
  }
  return at;
}

}  // namespace saddle::model
