// The description of the model in the metadata of a weight file. The tensors alone do not tell the
// number of heads, the eps of the norms or the base of rope.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/settings.h"

namespace saddle::model {

// Metadata for a weight file of this model.
std::map<std::string, std::string> model_note(const config::ModelSettings& model);

// Checks the model noted in the metadata of a weight or state file against `model`, except for the
// context length, which weights do not depend on; without a complete note it checks nothing.
// Errors: kData, naming the fields that differ; those of noted_model.
void check_noted_model(const std::map<std::string, std::string>& metadata, std::string_view where,
                       const config::ModelSettings& model);

// The model that saddle noted in the metadata of a weight or state file, or nothing. Errors: kData
// if the note is damaged; those of settings for values that are not allowed. `where` names the
// file.
std::optional<config::ModelSettings> noted_model(const std::map<std::string, std::string>& metadata,
                                                 std::string_view where);

}  // namespace saddle::model
