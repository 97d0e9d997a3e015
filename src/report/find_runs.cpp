#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/error.h"
#include "bench/set_aside.h"
#include "report/runs.h"

namespace saddle::report {
namespace {

bool is_a_directory(const Path& path) {
  return std::filesystem::is_directory(file_status(path));
}

bool holds_run(const Path& directory) {
  for (const char* name : {"resolved.yaml", "metrics.jsonl", "run.log"}) {
    if (std::filesystem::is_regular_file(file_status(directory / name))) return true;
  }
  return false;
}

// Digits at a position, without leading zeros.
std::string_view digits(std::string_view text, size_t& at) {
  while (at < text.size() && text[at] == '0') ++at;
  const size_t begin = at;
  while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0) ++at;
  return text.substr(begin, at - begin);
}

// run-2 comes before run-10.
bool before(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      const std::string_view x = digits(a, i), y = digits(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
    }
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;
}

std::vector<Path> runs_in(const Path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (bench::is_set_aside(name)) continue;
    if (!name.starts_with('.') && is_a_directory(entry.path()) && holds_run(entry.path())) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names, before);
  std::vector<Path> runs;
  runs.reserve(names.size());
  for (const std::string& name : names) runs.push_back(directory / name);
  return runs;
}

}  // namespace

std::vector<Path> find_runs(const std::vector<Path>& given) {
  std::vector<Path> runs, seen;
  for (const Path& path : given) {
    if (!is_a_directory(path)) {
      fail(ErrorKind::kIo,
           "'{}' is not a directory: a run, or a directory that holds runs, was "
           "expected",
           path.string());
    }
    const std::vector<Path> found = holds_run(path) ? std::vector{path} : runs_in(path);
    if (found.empty()) {
      fail(ErrorKind::kData,
           "'{}' holds no run: neither it nor a directory in it has a "
           "resolved.yaml, metrics.jsonl or run.log",
           path.string());
    }
    for (const Path& run : found) {
      const Path canonical = std::filesystem::canonical(run);
      if (std::ranges::find(seen, canonical) != seen.end()) continue;
      seen.push_back(canonical);
      runs.push_back(run);
    }
  }
  return runs;
}

}  // namespace saddle::report
