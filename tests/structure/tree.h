// Reading the source tree, for the tests of its structure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace saddle::structure {

using Path = std::filesystem::path;

// The regular files with one of the extensions ("" for a file without one; no extension given:
// all) under the folders of `root` that exist, sorted.
std::vector<Path> find_files(const Path& root, const std::vector<std::string>& folders,
                             const std::vector<std::string>& extensions = {});

// The whole file. Throws std::runtime_error when it cannot be read.
std::string read_text(const Path& file);

// Its lines, without their ends.
std::vector<std::string> read_lines(const Path& file);

// "src/base/error.h:12: ", the beginning of a message.
std::string place(const Path& root, const Path& file, int64_t line);

// The messages, one a line.
std::string joined(const std::vector<std::string>& messages);

}  // namespace saddle::structure
