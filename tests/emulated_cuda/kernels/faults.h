// Kernels with one fault each, which the emulated device must find. All run one block of 64 threads
// unless they say otherwise; pointers are device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace saddle {

// out[0] = the sum of x over 64 numbers, without the barrier between the warps.
void sum_without_barrier(const float* x, float* out, cudaStream_t stream);

// The first half of each warp waits at a barrier, the other half at a shuffle.
void wait_for_different_things(cudaStream_t stream);

// Each warp waits at a barrier of its own.
void wait_at_different_barriers(cudaStream_t stream);

// Thread 3 returns before the barrier.
void return_before_barrier(cudaStream_t stream);

// A shuffle whose source takes no part.
void take_from_absent_lane(cudaStream_t stream);

// out[t] = the number that thread t ^ 1 has put into shared memory before a shuffle, which does not
// order memory, or before a barrier of the warp, which does.
void share_before_shuffle(float* out, cudaStream_t stream);
void share_before_warp_barrier(float* out, cudaStream_t stream);

// out[0] = the sum of x over 64 numbers, out[1] = twice that, through the same shared memory
// without a barrier between the two.
void sum_twice_without_barrier(const float* x, float* out, cudaStream_t stream);

// 40 KiB of dynamic and 16 KiB of static shared memory.
void ask_for_much_shared(float* out, cudaStream_t stream);

// Writes a number behind a shared array of 8.
void write_behind_shared(float* out, cudaStream_t stream);

// One thread writes y[position] and leaves the rest.
void write_at(float* y, int64_t position, cudaStream_t stream);

// Block b of two writes out[0] = b, by its thread b.
void write_from_all_blocks(float* out, cudaStream_t stream);

// Calls itself until its stack is full.
void overflow_stack(float* out, cudaStream_t stream);

}  // namespace saddle
