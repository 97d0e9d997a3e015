// What this program and this machine are, for the records that a run keeps.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"

namespace saddle {

// Version, source revision (and whether the tree had changes), a SHA-256 of the sources themselves,
// compiler, flags, build type.
Json build_description();

// Processor, cores that this process may use, memory, operating system.
Json machine_description();

// The cores that this process may use (affinity and cgroup quota, at least 1).
int available_cores();

// The memory that this process may use, in bytes: the machine's, or less where a cgroup says so.
int64_t usable_memory_bytes();

// The largest resident set of this process so far, in bytes.
int64_t peak_memory_bytes();

// An environment variable, or empty: the only place that reads the environment.
std::string environment_variable(const char* name);

}  // namespace saddle
