// Comma-separated values, for programs.
#pragma once

#include <string>

#include "base/json.h"
#include "base/text.h"

namespace saddle {

// A value as a field of a line: text in quotes where it needs them (RFC 4180), nothing for null.
inline std::string csv_field(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return json_text(value);
  const std::string text = utf8(value.get<std::string>());
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace saddle
