// The groups of lanes (ops/group.h) of row kernels: a warp, or a block. Sums and maxima go plane by
// plane in a fixed order, so that all lanes get the same bits, every time.
#pragma once

#include "backend/cuda/language.h"
#include "num/number_types.h"

namespace saddle::backend::cuda {

struct Add {
  template <class S>
  __device__ S operator()(S x, S y) const {
    return x + y;
  }
};
struct Larger {
  template <class T>
  __device__ T operator()(T x, T y) const {
    return x > y ? x : y;
  }
};

template <class S>
__device__ S shuffle_xor(S x, int lanes) {
  using Traits = num::NumberTraits<S>;
  for (int p = 0; p < Traits::kPlanes; ++p) {
    Traits::set(x, p, __shfl_xor_sync(0xffffffffu, Traits::get(x, p), lanes));
  }
  return x;
}

template <class S, class Join>
__device__ S join_warp(S x, Join join) {
  for (int lanes = 16; lanes > 0; lanes /= 2) x = join(x, shuffle_xor(x, lanes));
  return x;
}

// Lanes of one warp; several groups share a block.
struct WarpGroup {
  static constexpr int64_t kCount = 32;

  __device__ int64_t index() const { return threadIdx.x; }
  __device__ bool first() const { return threadIdx.x == 0; }
  template <class S>
  __device__ S sum(S x) const {
    return join_warp(x, Add());
  }
  template <class T>
  __device__ T max(T x) const {
    return join_warp(x, Larger());
  }
  __device__ void sync() const { __syncwarp(); }
};

// All threads of a block of kCount.
struct BlockGroup {
  static constexpr int64_t kCount = 128;

  __device__ int64_t index() const { return threadIdx.x; }
  __device__ bool first() const { return threadIdx.x == 0; }
  template <class S>
  __device__ S sum(S x) const {
    return join(x, Add());
  }
  template <class T>
  __device__ T max(T x) const {
    return join(x, Larger());
  }
  __device__ void sync() const { __syncthreads(); }

 private:
  // Ends with a barrier, so that the next call may use the same memory.
  template <class S, class Join>
  static __device__ S join(S x, Join join) {
    constexpr int kWarps = kCount / 32;
    SADDLE_SHARED(S, parts, kWarps);
    x = join_warp(x, join);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    S all = parts[0];
    for (int warp = 1; warp < kWarps; ++warp) all = join(all, parts[warp]);
    __syncthreads();
    return all;
  }
};

}  // namespace saddle::backend::cuda
