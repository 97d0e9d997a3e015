// Settings for tests, read from text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"

namespace saddle::config {

inline Settings from_yaml(std::string_view text) {
  Settings settings;
  apply_yaml(text, "a.yaml", settings);
  return settings;
}

inline Settings with_overrides(const std::vector<std::string>& overrides) {
  Settings settings;
  for (const std::string& override_text : overrides) apply_override(override_text, settings);
  return settings;
}

}  // namespace saddle::config
