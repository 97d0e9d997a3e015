// Text about the settings, made from the field tables.
#pragma once

#include <string>

namespace saddle::config {

// docs/options.md: every setting with its default, what is allowed and what it means.
std::string options_markdown();

}  // namespace saddle::config
