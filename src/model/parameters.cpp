#include "model/parameters.h"

#include <fmt/format.h>

namespace saddle::model {

Parameters::Parameters(const config::ModelSettings& model) {
  embedding = layout.add_matrix("embedding.weight", model.vocab_size, model.width);
  for (int64_t i = 0; i < model.layers; ++i) {
    const auto name = [&](const char* part) { return fmt::format("blocks.{}.{}.weight", i, part); };
    BlockSlots block;
    block.attention_norm = layout.add_vector(name("attention_norm"), model.width);
    block.q_proj = layout.add_matrix(name("attention.q_proj"), model.width, model.width);
    block.k_proj = layout.add_matrix(name("attention.k_proj"), model.width, model.width);
    block.v_proj = layout.add_matrix(name("attention.v_proj"), model.width, model.width);
    block.out_proj = layout.add_matrix(name("attention.out_proj"), model.width, model.width);
    block.ffn_norm = layout.add_vector(name("ffn_norm"), model.width);
    block.gate_proj = layout.add_matrix(name("ffn.gate_proj"), model.ffn_width, model.width);
    block.up_proj = layout.add_matrix(name("ffn.up_proj"), model.ffn_width, model.width);
    block.down_proj = layout.add_matrix(name("ffn.down_proj"), model.width, model.ffn_width);
    blocks.push_back(block);
  }
  norm = layout.add_vector("norm.weight", model.width);
}

std::vector<SlotRun> runs_of(const tensor::Layout& layout, std::initializer_list<int> slots) {
  std::vector<SlotRun> runs;
  int64_t end = -1;  // of the current run
  int64_t rows = 0;
  for (const int index : slots) {
    const tensor::Slot& slot = layout.slot(index);
    if (slot.offset != end) {
      runs.push_back({index, 0, rows});
      end = slot.offset;
    }
    runs.back().rows += slot.rows;
    rows += slot.rows;
    end += slot.size();
  }
  return runs;
}

}  // namespace saddle::model
