// Runs kernels: the threads of a block are fibers, blocks run one after another.
//
// A thread starts on the fiber that runs and gets one for itself only when it waits, so a kernel
// without barriers never switches. (Under the thread sanitizer every thread has its own, or two
// threads of a block would look like one.) When no thread of the block can go on, those that wait
// for each other are let through; if there are none, the block fails with what each waits for.
//
// What the thread sanitizer sees: __syncthreads() and __syncwarp() order accesses between threads,
// shuffles do not. Blocks are ordered only every kUnorderedBlocks blocks, so it can also report
// that two blocks use the same memory.
#pragma once

#include <functional>
#include <string>

#include "runtime/sanitizers.h"
#include "runtime/status.h"

namespace emulated {

inline constexpr unsigned kThreadsPerBlock = 1024;
inline constexpr unsigned kUnorderedBlocks = kThreadSanitizer ? 16 : 1;

struct Launch {
  const void* kernel = nullptr;
  dim3 grid;
  dim3 block;
  size_t dynamic_shared = 0;
  size_t shared_limit = 0;
  std::function<void()> body;
};

// Runs every thread of every block, in an order drawn from `order` (set_order()).
Status run_grid(const Launch& launch, uint64_t order);

// The kernel, block and thread that run now, for messages; empty outside of kernels.
std::string running_thread();

// Whether `address` is where a thread's stack runs over.
bool is_stack_overflow(const void* address);

}  // namespace emulated
