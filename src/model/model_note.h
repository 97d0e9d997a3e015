// What a weight file says in its metadata about its model. The tensors alone do not tell the number
// of heads, the eps of the norms or the base of rope.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/settings.h"

namespace saddle::model {

// Metadata for a weight file of this model.
std::map<std::string, std::string> model_note(const config::ModelSettings& model);

// Checks what the metadata of a weight file, or of a state file, notes about its model against
// `model`, but for the context length, which weights do not depend on; without a complete note
// nothing is checked. Errors: kData, naming the fields that differ; those of noted_model.
void check_noted_model(const std::map<std::string, std::string>& metadata, std::string_view where,
                       const config::ModelSettings& model);

// The model that saddle noted in the metadata of a weight or state file, or nothing. Errors: kData
// when the note is damaged; those of settings for values that are not allowed. `where` names the
// file.
std::optional<config::ModelSettings> noted_model(const std::map<std::string, std::string>& metadata,
                                                 std::string_view where);

}  // namespace saddle::model
