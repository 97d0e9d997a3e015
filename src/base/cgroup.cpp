#include "base/cgroup.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "base/error.h"

namespace saddle {
namespace {

std::optional<std::string> try_read(const Path& path) {
  try {
    return read_file(path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// "QUOTA PERIOD" in microseconds; the quota "max" or -1 sets no limit.
std::optional<double> parse_quota(const std::string& text) {
  std::istringstream stream(text);
  double quota = 0;
  double period = 0;
  if (!(stream >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

std::optional<double> quota_of_group(const Path& group) {
  if (const auto text = try_read(group / "cpu.max")) return parse_quota(*text);
  const auto quota = try_read(group / "cpu.cfs_quota_us");
  const auto period = try_read(group / "cpu.cfs_period_us");
  if (!quota || !period) return std::nullopt;
  return parse_quota(*quota + " " + *period);
}

std::optional<int64_t> memory_of_group(const Path& group) {
  auto text = try_read(group / "memory.max");
  if (!text) text = try_read(group / "memory.limit_in_bytes");
  std::istringstream stream(text.value_or("max"));
  int64_t bytes = 0;
  if (!(stream >> bytes) || bytes <= 0) return std::nullopt;
  return bytes;
}

// Whether `controller` is in a list such as "cpu,cpuacct".
bool has_controller(const std::string& controllers, const std::string& controller) {
  return ("," + controllers + ",").find("," + controller + ",") != std::string::npos;
}

// The smallest read(GROUP) over the groups of this process for one controller.
template <class Read>
auto tightest(const Path& membership, const Path& root, const std::string& controller, Read read) {
  std::istringstream lines(try_read(membership).value_or(""));
  decltype(read(root)) least;
  for (std::string line; std::getline(lines, line);) {
    // HIERARCHY:CONTROLLERS:/PATH, with no controllers in version 2.
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !has_controller(controllers, controller)) continue;
    const Path top = controllers.empty() ? root : root / controllers;
    // Every parent group limits too. In a container the path may not exist, but its top does.
    for (Path group = Path(line.substr(second + 1)).relative_path();; group = group.parent_path()) {
      const auto limit = read(group.empty() ? top : top / group);
      if (limit) least = std::min(*limit, least.value_or(*limit));
      if (group.empty()) break;
    }
  }
  return least;
}

}  // namespace

std::optional<double> cgroup_processors(const Path& membership, const Path& root) {
  return tightest(membership, root, "cpu", quota_of_group);
}

std::optional<int64_t> cgroup_memory_bytes(const Path& membership, const Path& root) {
  return tightest(membership, root, "memory", memory_of_group);
}

}  // namespace saddle
