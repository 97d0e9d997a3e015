// The note in the metadata of a state file: the counters of the run, and its recipe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "train/run_state.h"

namespace saddle::train {

inline constexpr int64_t kStateVersion = 1;

struct StateNote {
  RunState state;
  Json recipe;  // an object
};

// The metadata of a state file.
std::map<std::string, std::string> to_metadata(const StateNote& note);

// Errors: kData, beginning with `where`, when there is no note, or one that is damaged or of
// another version.
StateNote state_note(const std::map<std::string, std::string>& metadata, std::string_view where);

}  // namespace saddle::train
