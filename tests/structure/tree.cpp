#include "structure/tree.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace saddle::structure {

std::vector<Path> find_files(const Path& root, const std::vector<std::string>& folders,
                             const std::vector<std::string>& extensions) {
  std::vector<Path> files;
  for (const std::string& folder : folders) {
    if (!std::filesystem::is_directory(root / folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      const bool wanted = extensions.empty() || std::find(extensions.begin(), extensions.end(),
                                                          extension) != extensions.end();
      if (entry.is_regular_file() && wanted) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_text(const Path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<std::string> read_lines(const Path& file) {
  std::istringstream text(read_text(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

std::string place(const Path& root, const Path& file, int64_t line) {
  return file.lexically_relative(root).string() + ":" + std::to_string(line) + ": ";
}

std::string joined(const std::vector<std::string>& messages) {
  std::string text;
  for (const std::string& message : messages) text += message + "\n";
  return text;
}

}  // namespace saddle::structure
