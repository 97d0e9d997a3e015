// The buffers of a plan for one batch shape. Tensors that are not needed at the same time share a
// buffer, unless the plan keeps every adjoint.
#pragma once

#include <cstdint>
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
template <class S>
struct BlockBuffers {
  tensor::View<S> x, n1, r1;       // input; normed; its inverse root mean square
  tensor::View<S> qkv, o;          // projections, rotated by rope; attention
  tensor::View<S> middle, n2, r2;  // after attention; normed; its inverse root mean square
  tensor::View<S> gate_up, a;      // projections; swiglu
};

// Adjoints of the outputs of a block's operations, in the order in which they are computed.
template <class S>
struct BlockAdjoints {
  tensor::View<S> out;      // of the block, and so of the down projection
  tensor::View<S> a;        // of swiglu
  tensor::View<S> gate_up;  // of these projections
  tensor::View<S> n2;       // of the second norm
  tensor::View<S> middle;   // of the residual stream after attention, and so of that projection
  tensor::View<S> o;        // of attention
  tensor::View<S> qkv;      // of these projections, before rope once the adjoint is done
  tensor::View<S> n1;       // of the first norm
  tensor::View<S> x;        // of the block's input
};

template <class S>
struct PlanBuffers {
  std::vector<BlockBuffers<S>> blocks;
  tensor::View<S> last, n, r;  // the residual stream after all blocks; normed; its inverse rms
  tensor::View<S> y;           // a block's output before the residual sum
  tensor::View<S> losses;
  std::vector<BlockAdjoints<S>> adjoints;
  tensor::View<S> dn;  // adjoint of the last norm
};

// Lays out the buffers for `sequences` sequences of each of `workers` workers.
template <class S>
PlanBuffers<S> lay_out(Buffers<S>& buffers, const config::ModelSettings& model, int64_t workers,
                       int64_t sequences, Keep keep) {
  const int64_t rows = sequences * model.context_length;
  const auto take = [&](int64_t cols) { return buffers.take(workers, rows, cols); };
  const auto take_width = [&] { return take(model.width); };
  PlanBuffers<S> at;
  for (int64_t i = 0; i < model.layers; ++i) {
    if (i > 0 && keep == Keep::kNothing) {
      at.blocks.push_back(at.blocks[0]);
      continue;
    }
    const BlockBuffers<S>* shared =
        i > 0 && keep == Keep::kActivations ? &at.blocks.front() : nullptr;
    BlockBuffers<S> b;
    b.x = take_width();
    b.n1 = shared ? shared->n1 : take_width();
    b.r1 = take(1);
    b.qkv = take(3 * model.width);
    b.o = take_width();
    b.middle = take_width();
    b.n2 = keep == Keep::kAdjoints ? take_width() : b.n1;
    b.r2 = take(1);
    b.gate_up = take(2 * model.ffn_width);
    b.a = shared ? shared->a : take(model.ffn_width);
    at.blocks.push_back(b);
  }
  at.last = take_width();
  at.n = take_width();
  at.r = take(1);
  at.y = take_width();
  at.losses = take(1);
  if (keep == Keep::kNothing) return at;

  at.dn = take_width();
  tensor::View<S> stream = take_width();  // adjoint of the residual stream
  for (int64_t i = 0; i < model.layers; ++i) {
    BlockAdjoints<S> d;
    if (keep == Keep::kAdjoints) {
      d.x = stream;
      d.qkv = take(3 * model.width);
      d.gate_up = take(2 * model.ffn_width);
      d.a = take(model.ffn_width);
      d.n1 = take_width();
      d.o = take_width();
      d.middle = take_width();
      d.n2 = take_width();
      d.out = stream = take_width();  // the input of the next block
    } else {
      d.x = d.middle = d.out = stream;
      d.n1 = d.o = d.n2 = at.dn;
      d.qkv = i == 0 ? take(3 * model.width) : at.adjoints[0].qkv;
      // Adjoints overwrite their own activations, which are no longer needed.
      d.gate_up = at.blocks[i].gate_up;
      d.a = at.blocks[i].a;
    }
    at.adjoints.push_back(d);
  }
  return at;
}

}  // namespace saddle::model
