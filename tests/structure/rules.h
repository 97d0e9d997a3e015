// Rules about single files of the source tree. Each returns one message for every violation, with
// the file, relative to `root`, and the line if there is one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "structure/tree.h"

namespace saddle::structure {

inline constexpr int64_t kMaxLines = 600;

// Files of src, apps, tests (except the reference values in tests/data), bench and scripts with
// more than kMaxLines lines.
std::vector<std::string> find_long_files(const Path& root);

// Calls of device_data() outside src/tensor, src/backend and src/ops: all rooms above move tensor
// memory through operations and explicit copies, so that it may be on another device.
std::vector<std::string> find_memory_access(const Path& root);

// Shell scripts that `bash -n` does not accept.
std::vector<std::string> find_bad_scripts(const Path& root);

// Links in README.md and docs/**/*.md to files of the tree that do not exist.
std::vector<std::string> find_dead_links(const Path& root);

}  // namespace saddle::structure
