// What to suggest for an unknown key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/fields.h"

namespace saddle::config {

// "did you mean optimizer.lr?", or the settings of the section when no key is similar.
std::string suggest_key(const std::vector<Field>& fields, std::string_view key);

// The same for the name of a section.
std::string suggest_section(std::string_view section);

// The number of insertions, deletions, replacements and swaps of neighbours between two texts
// (the optimal string alignment distance).
int edit_distance(std::string_view a, std::string_view b);

}  // namespace saddle::config
