// Omits <string>, so that the test that compiles headers alone must notice.
#pragma once

inline std::string needs_string() {
  return "string";
}
