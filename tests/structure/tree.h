// Reading the source tree, for the tests of its structure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace saddle::structure {

using Path = std::filesystem::path;

// The regular files with one of the extensions ("" for files without one; an empty list: all files)
// under the existing folders of `root`, sorted.
std::vector<Path> find_files(const Path& root, const std::vector<std::string>& folders,
                             const std::vector<std::string>& extensions = {});

// The whole file. Throws std::runtime_error if it cannot be read.
std::string read_text(const Path& file);

// Its lines, without line ends.
std::vector<std::string> read_lines(const Path& file);

// "src/base/error.h:12: ", the start of a message.
std::string place(const Path& root, const Path& file, int64_t line);

// The messages, one per line.
std::string joined(const std::vector<std::string>& messages);

}  // namespace saddle::structure
