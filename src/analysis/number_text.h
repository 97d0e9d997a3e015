// Numbers of JSON in tables for people.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/json.h"

namespace saddle::analysis {

// The number in a format of fmt; "-" for null.
inline std::string number_text(const Json& value, const char* format) {
  return value.is_number() ? fmt::format(fmt::runtime(format), value.get<double>()) : "-";
}

}  // namespace saddle::analysis
