#include "fuzz/targets.h"

#include <algorithm>
#include <array>

namespace saddle::fuzz {
namespace {

constexpr std::array<Target, 16> kTargets = {{{"analysis", analysis},
                                              {"documents", documents},
                                              {"http", http},
                                              {"hugging_face", hugging_face},
                                              {"json", json},
                                              {"manifest", manifest},
                                              {"run", run},
                                              {"safetensors", safetensors},
                                              {"set", set},
                                              {"settings", settings},
                                              {"site", site},
                                              {"slurm", slurm},
                                              {"state_note", state_note},
                                              {"submission", submission},
                                              {"tokenizer", tokenizer},
                                              {"weight_index", weight_index}}};

}  // namespace

std::span<const Target> targets() {
  return kTargets;
}

const Target* find_target(std::string_view name) {
  const auto found = std::ranges::find(kTargets, name, &Target::name);
  return found == kTargets.end() ? nullptr : &*found;
}

}  // namespace saddle::fuzz
