// JSON for files that programs read. Input is parsed strictly; on output, numbers that are not
// finite become null.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/files.h"

namespace saddle {

using Json = nlohmann::ordered_json;

// The number, or null if it is not finite.
Json json_number(double value);

// The value as an integer. Throws a Json::type_error if it is not one, as 1.5 and 1e3 are not, or
// does not fit (json.get<int64_t>() would convert both silently).
int64_t json_integer(const Json& value);

// Parses `text`; an Error of kind kData names `where` and the position of the fault.
Json parse_json(std::string_view text, std::string_view where);
Json read_json(const Path& path);
// The same, and kData when it is anything but an object.
Json read_json_object(const Path& path);

// One line without spaces and with the keys sorted: the form that identities are hashed in. Errors:
// kData when a string is not UTF-8.
std::string canonical_json(const Json& value);

// The text of a value, on one line or indented by `indent`. U+FFFD replaces bytes of strings that
// are not UTF-8, which names of files may contain.
std::string json_text(const Json& value, int indent = -1);

// json_text() indented by two, with a newline at the end, written atomically.
void write_json(const Path& path, const Json& value);

// The same for values that must be read back unchanged. Errors: kData when a string is not UTF-8.
void write_exact_json(const Path& path, const Json& value);

}  // namespace saddle
