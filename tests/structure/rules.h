// Rules about single files of the source tree. Each returns one message for every place that breaks
// it, with file and, where it has one, line, relative to `root`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "structure/tree.h"

namespace saddle::structure {

inline constexpr int64_t kMaxLines = 600;

// Files of src, apps, tests (reference values in tests/data apart), bench and scripts that have
// more than kMaxLines lines.
std::vector<std::string> find_long_files(const Path& root);

// Calls of device_data() outside src/tensor, src/backend and src/ops: everything above moves tensor
// memory through operations and explicit copies, so that it may lie on another device.
std::vector<std::string> find_memory_access(const Path& root);

// Shell scripts that `bash -n` does not accept.
std::vector<std::string> find_bad_scripts(const Path& root);

// Links of README.md and docs/**/*.md to files of the tree that do not exist.
std::vector<std::string> find_dead_links(const Path& root);

}  // namespace saddle::structure
