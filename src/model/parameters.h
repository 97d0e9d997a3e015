// The parameters of the model: their canonical names, order and places in an arena.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "config/settings.h"
#include "tensor/layout.h"

namespace saddle::model {

// Slots of the parameters of one block.
struct BlockSlots {
  int attention_norm = 0;
  int q_proj = 0, k_proj = 0, v_proj = 0, out_proj = 0;
  int ffn_norm = 0;
  int gate_proj = 0, up_proj = 0, down_proj = 0;
};

// The canonical order: embedding, blocks, final norm.
struct Parameters {
  explicit Parameters(const config::ModelSettings& model);

  tensor::Layout layout;
  int embedding = 0;
  std::vector<BlockSlots> blocks;
  int norm = 0;
};

// Adjacent tensors of the same width without padding between them, seen as one matrix.
struct SlotRun {
  int first = 0;          // the first of them
  int64_t rows = 0;       // of all together
  int64_t first_row = 0;  // rows of the runs before
};

// Joins adjacent slots, in the given order.
std::vector<SlotRun> runs_of(const tensor::Layout& layout, std::initializer_list<int> slots);

}  // namespace saddle::model
