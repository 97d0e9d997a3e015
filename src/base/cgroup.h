// What Linux control groups allow this process.
#pragma once

#include <cstdint>
#include <optional>

#include "base/files.h"

namespace saddle {

// Processors that the tightest quota allows, for example 1.5; empty without a quota.
// `membership` is /proc/self/cgroup and `root` is /sys/fs/cgroup: versions 1 and 2 are read
// (kernel documentation: admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst). What cannot be read
// counts as no quota.
std::optional<double> cgroup_processors(const Path& membership, const Path& root);

// Bytes of memory that the tightest limit allows; empty without one. From the same places.
std::optional<int64_t> cgroup_memory_bytes(const Path& membership, const Path& root);

}  // namespace saddle
