// The value at a key of a YAML text, before it has a type.
#pragma once

#include <string>
#include <vector>

namespace saddle::config {

struct Value {
  enum class Kind { kNull, kPlain, kQuoted, kList, kOther };
  Kind kind = Kind::kNull;
  std::string text = {};          // of a scalar; for kOther a description: a mapping
  std::vector<Value> items = {};  // of a list
};

// The value as a message shows it: 12, "text", null, [1, 2], a mapping.
std::string found_text(const Value& value);

}  // namespace saddle::config
