// The contents of a directory.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"

namespace saddle {

// The names in a directory, sorted.
inline std::vector<std::string> names_in(const Path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The bytes of every file, by name.
inline std::map<std::string, std::string> contents_of(const Path& directory) {
  std::map<std::string, std::string> contents;
  for (const std::string& name : names_in(directory)) {
    contents[name] = read_file(directory / name);
  }
  return contents;
}

}  // namespace saddle
