#include "emulated_cuda/kernels/faults.h"

#include "emulated_cuda/kernels/lanes.h"

namespace saddle {
namespace {

constexpr int kFaultThreads = 64;

__global__ void sum_without_barrier_kernel(const float* x, float* out) {
  SADDLE_SHARED(float, parts, 2);
  const float sum = warp_sum(x[threadIdx.x]);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  if (threadIdx.x == 0) out[0] = parts[0] + parts[1];  // parts[1] may not be there
}

__global__ void different_things_kernel() {
  if (threadIdx.x % 32 < 16) {
    __syncthreads();
  } else {
    __shfl_xor_sync(0xffffffffu, 1.0f, 1);
  }
}

__global__ void different_barriers_kernel() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void return_before_barrier_kernel() {
  if (threadIdx.x == 3) return;
  __syncthreads();
}

__global__ void absent_lane_kernel() {
  if (threadIdx.x % 32 < 16) __shfl_sync(0x0000ffffu, 1.0f, 20);
}

template <bool kBarrier>
__global__ void share_kernel(float* out) {
  SADDLE_SHARED(float, numbers, kFaultThreads);
  numbers[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (kBarrier) {
    __syncwarp();
  } else {
    __shfl_xor_sync(0xffffffffu, 1.0f, 1);
  }
  out[threadIdx.x] = numbers[threadIdx.x ^ 1];
}

__device__ float sum_without_last_barrier(float x) {
  SADDLE_SHARED(float, parts, 2);
  const float sum = warp_sum(x);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  return parts[0] + parts[1];
}

__global__ void sum_twice_kernel(const float* x, float* out) {
  const float once = sum_without_last_barrier(x[threadIdx.x]);
  const float twice = sum_without_last_barrier(2 * x[threadIdx.x]);
  if (threadIdx.x == 0) {
    out[0] = once;
    out[1] = twice;
  }
}

__global__ void much_shared_kernel(float* out) {
  SADDLE_DYNAMIC_SHARED(float, some);
  SADDLE_SHARED(float, more, 4096);
  some[threadIdx.x] = more[threadIdx.x] = 1;
  out[threadIdx.x] = some[threadIdx.x] + more[threadIdx.x];
}

__global__ void write_behind_shared_kernel(float* out) {
  SADDLE_SHARED(float, eight, 8);
  if (threadIdx.x < 8) eight[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    float* const end = eight + 8;
    end[0] = 2;
    out[0] = eight[0];
  }
}

__global__ void write_at_kernel(float* y, int64_t position) {
  if (threadIdx.x == 0) y[position] = 1;
}

__global__ void write_from_all_blocks_kernel(float* out) {
  if (threadIdx.x == blockIdx.x) out[0] = static_cast<float>(blockIdx.x);
}

__device__ float call_self(float x, int depth) {
  volatile float numbers[256];
  numbers[depth % 256] = x;
  return depth == 0 ? x : call_self(numbers[depth % 256], depth - 1) + numbers[depth % 256];
}

__global__ void overflow_stack_kernel(float* out) {
  out[0] = call_self(1, 1 << 20);
}

}  // namespace

void sum_without_barrier(const float* x, float* out, cudaStream_t stream) {
  launch(1, kFaultThreads, 0, stream, sum_without_barrier_kernel, x, out);
}

void wait_for_different_things(cudaStream_t stream) {
  launch(1, kFaultThreads, 0, stream, different_things_kernel);
}

void wait_at_different_barriers(cudaStream_t stream) {
  launch(1, kFaultThreads, 0, stream, different_barriers_kernel);
}

void return_before_barrier(cudaStream_t stream) {
  launch(1, kFaultThreads, 0, stream, return_before_barrier_kernel);
}

void take_from_absent_lane(cudaStream_t stream) {
  launch(1, kFaultThreads, 0, stream, absent_lane_kernel);
}

void share_before_shuffle(float* out, cudaStream_t stream) {
  launch(1, kFaultThreads, 0, stream, share_kernel<false>, out);
}

void share_before_warp_barrier(float* out, cudaStream_t stream) {
  launch(1, kFaultThreads, 0, stream, share_kernel<true>, out);
}

void sum_twice_without_barrier(const float* x, float* out, cudaStream_t stream) {
  launch(1, kFaultThreads, 0, stream, sum_twice_kernel, x, out);
}

void ask_for_much_shared(float* out, cudaStream_t stream) {
  launch(1, kFaultThreads, 40 << 10, stream, much_shared_kernel, out);
}

void write_behind_shared(float* out, cudaStream_t stream) {
  launch(1, kFaultThreads, 0, stream, write_behind_shared_kernel, out);
}

void write_at(float* y, int64_t position, cudaStream_t stream) {
  launch(1, kFaultThreads, 0, stream, write_at_kernel, y, position);
}

void write_from_all_blocks(float* out, cudaStream_t stream) {
  launch(2, kFaultThreads, 0, stream, write_from_all_blocks_kernel, out);
}

void overflow_stack(float* out, cudaStream_t stream) {
  launch(1, 1, 0, stream, overflow_stack_kernel, out);
}

}  // namespace saddle
