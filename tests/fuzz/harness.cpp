#include "fuzz/harness.h"

#include <unistd.h>

#include <fmt/format.h>
#include <algorithm>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "base/text.h"

namespace saddle::fuzz {

Scratch::Scratch() {
  std::string name = (std::filesystem::temp_directory_path() / "saddle-fuzz-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), name);
  }
  directory_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

Path Scratch::write(std::string_view name, std::string_view content) const {
  Path path = directory_ / name;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  require(file.good(), "a file of the scratch folder cannot be written");
  return path;
}

void Scratch::clear() const {
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    std::filesystem::remove_all(entry.path());
  }
}

void require(bool condition, std::string_view what) {
  if (condition) return;
  std::fprintf(stderr, "fault: %s\n", printable(what).c_str());
  std::abort();
}

bool accepts(const std::function<void()>& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    const std::string_view message = error.what();
    require(error.kind() != ErrorKind::kInternal, fmt::format("an internal error: {}", message));
    require(!message.empty() && printable(message) == message,
            fmt::format("a message of more than one line: {}", message));
    return false;
  }
}

std::vector<std::pair<std::string, std::string_view>> files_in(std::string_view bytes) {
  constexpr std::string_view kMark = "@@ ";
  std::vector<std::pair<std::string, std::string_view>> files;
  for (size_t begin = 0; begin < bytes.size();) {
    const size_t end = std::min(bytes.find('\n', begin), bytes.size() - 1) + 1;
    const std::string_view line = bytes.substr(begin, end - begin);
    if (line.starts_with(kMark)) {
      files.emplace_back(line.substr(kMark.size(), line.find('\n') - kMark.size()),
                         bytes.substr(end, 0));
    } else if (!files.empty()) {
      std::string_view& content = files.back().second;
      content = {content.data(), content.size() + line.size()};
    }
    begin = end;
  }
  return files;
}

}  // namespace saddle::fuzz
