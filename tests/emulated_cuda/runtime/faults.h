// Explains accesses to device memory that fault, before the process dies of them.
#pragma once

#include "runtime/memory.h"

namespace emulated {

// From now on a fault at an address of `memory`, or where a thread's stack runs over, is explained
// on standard error. The process still ends by the signal (or by the handler there was before).
void explain_faults(const DeviceMemory& memory);

}  // namespace emulated
