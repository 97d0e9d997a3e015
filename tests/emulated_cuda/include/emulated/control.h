// What a test can set on the emulated device and ask of it, beyond CUDA's own functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace emulated {

// What was asked of the device since the last reset_counters(). Operations count when they are
// queued; those of a graph when the graph is launched.
struct Counters {
  int64_t kernel_launches = 0;
  int64_t library_calls = 0;  // products
  int64_t graph_launches = 0;
  int64_t copies = 0;                 // and fills
  int64_t host_synchronizations = 0;  // calls in which the host waits for the device
  int64_t bytes_to_device = 0;
  int64_t bytes_to_host = 0;
  int64_t bytes_on_device = 0;  // copied from device to device
  int64_t bytes_filled = 0;
  int64_t allocations = 0;  // of device memory
  int64_t bytes_allocated = 0;

  Counters& operator+=(const Counters& other);
};
Counters counters();
void reset_counters();

// In which order the threads of a block, the blocks of a grid and the streams go on where CUDA
// leaves it open: 0 forward, 1 backward, others are seeds of random orders. Results must not depend
// on it.
void set_order(uint64_t order);

// The memory of the device in bytes; cudaMalloc fails beyond it. 4 GiB at first.
void set_memory_limit(size_t bytes);
size_t bytes_in_use();

// Why the last call failed, or which queued operation; empty if none did. cudaGetErrorString() and
// cublasLtGetStatusString() say the same for the code of that failure.
std::string failure();

// Drops all queued work and forgets failures, captures and counters; order and memory limit become
// those of the beginning. Memory, streams and events stay.
void reset();

// The position, in bytes, of the first 4 aligned bytes that hold what fresh memory holds (NaN in
// every floating-point type) in [device, device + bytes), or nothing. Waits for no stream. Results
// computed from such numbers usually hold the same bits, so it finds reads of memory that nothing
// wrote as well.
std::optional<size_t> first_unwritten(const void* device, size_t bytes);

}  // namespace emulated
