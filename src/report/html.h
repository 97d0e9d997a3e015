// Text as HTML.
#pragma once

#include <string>
#include <string_view>

#include "base/files.h"
#include "base/json.h"

namespace saddle::report {

// For the content of an element and for attributes in double quotes: U+FFFD replaces control
// characters and bytes that are not UTF-8.
std::string html(std::string_view text);

// A link to `target` from a page in `directory`, relative and percent-encoded.
std::string relative_url(const Path& target, const Path& directory);

// JSON for a script element, escaped so that nothing in it can end the element.
std::string script_json(const Json& value);

}  // namespace saddle::report
