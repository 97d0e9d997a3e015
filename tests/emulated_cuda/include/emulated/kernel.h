// What the text of a kernel uses: CUDA's qualifiers, built-in variables, barriers, shuffles and
// atomics. Each thread of a block is a fiber (runtime/block.h); a barrier or a shuffle really
// waits.
//
// __shared__ is missing on purpose: shared memory comes from emulated::shared_memory(), which fills
// it with NaN before each block. Sources for both compilers have one macro (kernels/language.h).
#pragma once

#include <cstdint>
#include <cstring>
#include <source_location>

#include "emulated/vector_types.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))

// The thread sanitizer watches what kernels do, and must not see how they are emulated.
#define SADDLE_EMULATOR __attribute__((no_sanitize("thread"), noinline))

namespace emulated {

// Where the kernel that runs now is. Changes whenever another thread of the block goes on.
struct Running {
  uint3 thread{};
  uint3 block{};
  dim3 block_size;
  dim3 grid;
};
extern Running running;

// A static shared array of a kernel. Like in CUDA, it is the same memory however often its
// declaration is passed, and another one for each instantiation of the function.
struct SharedArray {
  size_t bytes;
  const char* name;
  uint64_t launch = 0;  // the launch for which `offset` holds
  size_t offset = 0;
};
void* shared_memory(SharedArray& array);

// The bytes of shared memory that the launch asked for.
void* dynamic_shared_memory();

unsigned lane();  // of the warp, 0 to 31

// Waits for all threads of the block. Orders memory.
void wait_for_block(std::source_location where);

// Waits for the lanes of the warp in `mask`. Orders memory.
void wait_for_warp(unsigned mask, std::source_location where);

// Waits for the lanes in `mask`, gives `value` to them and returns that of lane `source`. Orders no
// memory, as on the device.
uint64_t exchange(const char* what, unsigned mask, uint64_t value, unsigned source,
                  std::source_location where);

// Waits for the lanes in `mask` and returns a bit for each one whose `predicate` holds.
unsigned ballot(unsigned mask, bool predicate, std::source_location where);

template <class T>
SADDLE_EMULATOR T shuffle(const char* what, unsigned mask, T value, unsigned source,
                          std::source_location where) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA shuffles numbers of 4 or 8 bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = exchange(what, mask, bits, source, where);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace emulated

inline constexpr const uint3& threadIdx = emulated::running.thread;
inline constexpr const uint3& blockIdx = emulated::running.block;
inline constexpr const dim3& blockDim = emulated::running.block_size;
inline constexpr const dim3& gridDim = emulated::running.grid;
inline constexpr int warpSize = 32;

inline void __syncthreads(std::source_location where = std::source_location::current()) {
  emulated::wait_for_block(where);
}

inline void __syncwarp(unsigned mask = 0xffffffffu,
                       std::source_location where = std::source_location::current()) {
  emulated::wait_for_warp(mask, where);
}

template <class T>
SADDLE_EMULATOR T __shfl_sync(unsigned mask, T value, int source,
                              std::source_location where = std::source_location::current()) {
  return emulated::shuffle("__shfl_sync", mask, value, static_cast<unsigned>(source) % 32, where);
}

template <class T>
SADDLE_EMULATOR T __shfl_xor_sync(unsigned mask, T value, int lanes,
                                  std::source_location where = std::source_location::current()) {
  return emulated::shuffle("__shfl_xor_sync", mask, value,
                           (emulated::lane() ^ static_cast<unsigned>(lanes)) % 32, where);
}

// Lanes whose source is beyond the warp keep their own value.
template <class T>
SADDLE_EMULATOR T __shfl_down_sync(unsigned mask, T value, unsigned lanes,
                                   std::source_location where = std::source_location::current()) {
  const unsigned source = emulated::lane() + lanes;
  return emulated::shuffle("__shfl_down_sync", mask, value, source < 32 ? source : emulated::lane(),
                           where);
}

template <class T>
SADDLE_EMULATOR T __shfl_up_sync(unsigned mask, T value, unsigned lanes,
                                 std::source_location where = std::source_location::current()) {
  const unsigned self = emulated::lane();
  return emulated::shuffle("__shfl_up_sync", mask, value, lanes <= self ? self - lanes : self,
                           where);
}

inline unsigned __ballot_sync(unsigned mask, int predicate,
                              std::source_location where = std::source_location::current()) {
  return emulated::ballot(mask, predicate != 0, where);
}
inline int __any_sync(unsigned mask, int predicate,
                      std::source_location where = std::source_location::current()) {
  return emulated::ballot(mask, predicate != 0, where) != 0;
}
inline int __all_sync(unsigned mask, int predicate,
                      std::source_location where = std::source_location::current()) {
  return emulated::ballot(mask, predicate == 0, where) == 0;
}

template <class T>
T __ldg(const T* from) {
  return *from;
}
template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
void __stcs(T* to, T value) {
  *to = value;
}
inline void __threadfence() {}

// Atomics of all blocks, without order between other accesses. Each returns the value before.
template <class T>
T atomicCAS(T* at, T expected, T value) {
  __atomic_compare_exchange(at, &expected, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
template <class T>
T atomicAdd(T* at, T value) {
  T before;
  __atomic_load(at, &before, __ATOMIC_RELAXED);
  for (;;) {
    T sum = before + value;
    if (__atomic_compare_exchange(at, &before, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      return before;
    }
  }
}
inline unsigned atomicOr(unsigned* at, unsigned bits) {
  return __atomic_fetch_or(at, bits, __ATOMIC_RELAXED);
}
inline int atomicOr(int* at, int bits) {
  return __atomic_fetch_or(at, bits, __ATOMIC_RELAXED);
}
