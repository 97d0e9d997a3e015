#include "emulated_cuda/kernels/small.h"

#include "emulated_cuda/kernels/language.h"

namespace saddle {
namespace {

constexpr int kScaleThreads = 64;

__global__ void scale_kernel(const float* x, float* y, float factor, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) y[i] = factor * x[i];
}

__global__ void reverse_kernel(const float* x, float* y) {
  SADDLE_DYNAMIC_SHARED(float, numbers);
  numbers[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = numbers[blockDim.x - 1 - threadIdx.x];
}

template <class T>
__global__ void shuffle_kernel(T base, T* out) {
  const unsigned lane = threadIdx.x;
  const T value = base + static_cast<T>(lane);
  out[lane] = __shfl_sync(0xffffffffu, value, 5);
  out[32 + lane] = __shfl_xor_sync(0xffffffffu, value, 3);
  out[64 + lane] = __shfl_down_sync(0xffffffffu, value, 4);
  out[96 + lane] = __shfl_up_sync(0xffffffffu, value, 2);
}

__global__ void sum_halves_kernel(int* sums, unsigned* bits) {
  const int lane = static_cast<int>(threadIdx.x);
  const unsigned half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  int sum = lane;
  for (int lanes = 8; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(half, sum, lanes);
  sums[lane] = sum;
  __syncwarp();
  const unsigned odd = __ballot_sync(0xffffffffu, lane % 2);
  const int any = __any_sync(0xffffffffu, lane == 40);
  const int all = __all_sync(0xffffffffu, lane < 32);
  if (lane == 0) {
    bits[0] = odd;
    bits[1] = any != 0;
    bits[2] = all != 0;
  }
}

__global__ void number_kernel(int64_t* out) {
  const int64_t x = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t y = int64_t{blockIdx.y} * blockDim.y + threadIdx.y;
  const int64_t z = int64_t{blockIdx.z} * blockDim.z + threadIdx.z;
  const int64_t width = int64_t{gridDim.x} * blockDim.x;
  const int64_t height = int64_t{gridDim.y} * blockDim.y;
  const int64_t i = x + width * (y + height * z);
  out[i] = i;
}

__global__ void count_kernel(int repeats, int* counts, int* total) {
  for (int i = 0; i < repeats; ++i) {
    atomicAdd(counts, 1);
    __syncthreads();
  }
  if (threadIdx.x == 0) total[0] = counts[0];
}

}  // namespace

void scale(const float* x, float* y, float factor, int64_t count, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((count + kScaleThreads - 1) / kScaleThreads);
  launch(blocks, kScaleThreads, 0, stream, scale_kernel, x, y, factor, count);
}

void reverse(const float* x, float* y, unsigned count, cudaStream_t stream) {
  launch(1, count, count * sizeof(float), stream, reverse_kernel, x, y);
}

void allow_reverse(int shared_bytes) {
  cudaFuncSetAttribute(reverse_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
}

template <class T>
void shuffle_all(T base, T* out, cudaStream_t stream) {
  launch(1, 32, 0, stream, shuffle_kernel<T>, base, out);
}
template void shuffle_all(int, int*, cudaStream_t);
template void shuffle_all(float, float*, cudaStream_t);
template void shuffle_all(double, double*, cudaStream_t);

void sum_halves(int* sums, unsigned* bits, cudaStream_t stream) {
  launch(1, 32, 0, stream, sum_halves_kernel, sums, bits);
}

void number_threads(dim3 grid, dim3 block, int64_t* out, cudaStream_t stream) {
  launch(grid, block, 0, stream, number_kernel, out);
}

void count_with_barriers(unsigned threads, int repeats, int* counts, int* total,
                         cudaStream_t stream) {
  launch(1, threads, 0, stream, count_kernel, repeats, counts, total);
}

}  // namespace saddle
