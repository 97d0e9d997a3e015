// Leaves out <string>, to see that the test of headers alone notices.
#pragma once

inline std::string needs_string() {
  return "string";
}
