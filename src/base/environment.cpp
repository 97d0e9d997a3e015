#include "base/environment.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "base/cgroup.h"
#include "base/error.h"
#include "base/narrow.h"
#include "revision.h"

namespace saddle {
namespace {

// The value of the first line "KEY<spaces>SEPARATOR VALUE" of a file of /proc or /etc, or empty.
std::string value_in_file(const Path& path, std::string_view key, char separator) {
  std::string text;
  try {
    text = read_file(path);
  } catch (const Error&) {
    return {};  // the file differs between systems; a record without it is still useful
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t end = line.find(separator);
    if (end == std::string::npos) continue;
    std::string_view name(line.data(), end);
    name = name.substr(0, name.find_last_not_of(" \t") + 1);
    if (name != key) continue;
    const size_t begin = line.find_first_not_of(" \t\"", end + 1);
    const size_t last = line.find_last_not_of(" \t\"");
    return begin == std::string::npos ? "" : line.substr(begin, last + 1 - begin);
  }
  return {};
}

int affinity_cores() {
  // The kernel refuses a mask shorter than its own, so the mask grows until it fits.
  for (size_t processors = 1024; processors <= (size_t{1} << 20); processors *= 2) {
    std::vector<cpu_set_t> mask(processors / CPU_SETSIZE);
    const size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, mask.data()) == 0) return CPU_COUNT_S(bytes, mask.data());
  }
  return 1;
}

int64_t memory_bytes() {
  std::istringstream kibibytes(value_in_file("/proc/meminfo", "MemTotal", ':'));
  int64_t count = 0;
  kibibytes >> count;
  return 1024 * count;
}

}  // namespace

Json build_description() {
  return {{"version", SADDLE_VERSION},
          {"revision", SADDLE_REVISION},
          {"changed", SADDLE_CHANGED},
          {"source_digest", SADDLE_SOURCE_DIGEST},
          {"compiler", SADDLE_COMPILER},
          {"flags", SADDLE_FLAGS},
          {"operation_flags", SADDLE_OPERATION_FLAGS},
          {"build_type", SADDLE_BUILD_TYPE}};
}

Json machine_description() {
  utsname system{};
  ::uname(&system);
  std::string processor = value_in_file("/proc/cpuinfo", "model name", ':');
  if (processor.empty()) processor = system.machine;
  return {{"processor", processor},
          {"cores", available_cores()},
          {"memory_bytes", memory_bytes()},
          {"system", value_in_file("/etc/os-release", "PRETTY_NAME", '=')},
          {"kernel", fmt::format("{} {} {}", system.sysname, system.release, system.machine)}};
}

int available_cores() {
  int cores = affinity_cores();
  // A fraction of a processor is not counted: a thread on it would delay all others at each
  // barrier.
  if (const auto quota = cgroup_processors("/proc/self/cgroup", "/sys/fs/cgroup")) {
    cores = static_cast<int>(std::min<double>(cores, *quota));
  }
  return std::max(cores, 1);
}

int64_t usable_memory_bytes() {
  const auto limit = cgroup_memory_bytes("/proc/self/cgroup", "/sys/fs/cgroup");
  return limit ? std::min(*limit, memory_bytes()) : memory_bytes();
}

int64_t peak_memory_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return narrow<int64_t>(usage.ru_maxrss) * 1024;  // the kernel counts in KiB
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace saddle
