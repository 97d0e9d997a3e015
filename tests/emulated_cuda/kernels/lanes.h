// Sums over the threads of a warp and of a block, plane by plane.
#pragma once

#include "emulated_cuda/kernels/language.h"
#include "num/number_types.h"

namespace saddle {

template <class S>
__device__ S shuffle_xor(S x, int lanes) {
  using Traits = num::NumberTraits<S>;
  for (int p = 0; p < Traits::kPlanes; ++p) {
    Traits::set(x, p, __shfl_xor_sync(0xffffffffu, Traits::get(x, p), lanes));
  }
  return x;
}

// To all lanes of the warp.
template <class S>
__device__ S warp_sum(S x) {
  for (int lanes = 16; lanes > 0; lanes /= 2) x += shuffle_xor(x, lanes);
  return x;
}

// To all threads of the block; its size is a multiple of 32. Ends with a barrier, so that the next
// sum may use the same memory.
template <class S>
__device__ S block_sum(S x) {
  SADDLE_SHARED(S, parts, 32);
  x = warp_sum(x);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  S sum{};
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) sum += parts[warp];
  __syncthreads();
  return sum;
}

template <class S>
__device__ S load(const num::Plane<S>* x, int64_t plane, int64_t i) {
  S number{};
  for (int p = 0; p < num::kPlanes<S>; ++p) num::NumberTraits<S>::set(number, p, x[p * plane + i]);
  return number;
}

template <class S>
__device__ void store(num::Plane<S>* x, int64_t plane, int64_t i, S number) {
  for (int p = 0; p < num::kPlanes<S>; ++p) x[p * plane + i] = num::NumberTraits<S>::get(number, p);
}

}  // namespace saddle
