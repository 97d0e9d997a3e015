// JSON for files that programs read: strict on input, and on output numbers that are not finite
// become null.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

#include "base/files.h"

namespace saddle {

using Json = nlohmann::ordered_json;

// The number, or null when it is not finite.
Json json_number(double value);

// Parses `text`; an Error of kind kData that names `where` and the position of the fault.
Json parse_json(std::string_view text, std::string_view where);
Json read_json(const Path& path);

// One line without spaces and with the keys sorted: the form that identities are hashed in.
std::string canonical_json(const Json& value);

// Indented by two, with a newline at the end, written atomically.
void write_json(const Path& path, const Json& value);

}  // namespace saddle
