// Small kernels for the tests. Pointers are device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace saddle {

// y = factor x, of `count` numbers.
void scale(const float* x, float* y, float factor, int64_t count, cudaStream_t stream);

// y = x backwards within one block of `count` threads, through dynamic shared memory.
void reverse(const float* x, float* y, unsigned count, cudaStream_t stream);
// The kernel of reverse(), for cudaFuncSetAttribute.
void allow_reverse(int shared_bytes);

// out[i] for lane i of one warp: what each of four shuffles gives for the value `base + lane`, 32
// numbers each: from lane 5; from lane ^ 3; from lane + 4; from lane - 2.
template <class T>
void shuffle_all(T base, T* out, cudaStream_t stream);

// The halves of a warp add up their lane numbers apart; every lane gets its half's sum. Then
// bits[0] = the ballot of the odd lanes, bits[1] whether any lane is 40, bits[2] whether all are
// less than 32.
void sum_halves(int* sums, unsigned* bits, cudaStream_t stream);

// Thread (x, y, z) of block (x, y, z) writes its number, counted over the grid with x fastest, at
// that place.
void number_threads(dim3 grid, dim3 block, int64_t* out, cudaStream_t stream);

// Adds 1 to counts[0] from every thread, `repeats` times with a barrier after each; total[0] = what
// thread 0 read after its last barrier.
void count_with_barriers(unsigned threads, int repeats, int* counts, int* total,
                         cudaStream_t stream);

}  // namespace saddle
