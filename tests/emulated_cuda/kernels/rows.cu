#include "emulated_cuda/kernels/rows.h"

#include "emulated_cuda/kernels/lanes.h"

namespace saddle {
namespace {

constexpr int kThreads = 128;

template <class S>
__global__ void __launch_bounds__(kThreads)
    sum_kernel(const num::Plane<S>* x, num::Plane<S>* sums, int64_t rows, int64_t cols) {
  const int64_t row = blockIdx.x;
  S sum{};
  for (int64_t c = threadIdx.x; c < cols; c += blockDim.x) {
    sum += load<S>(x, rows * cols, row * cols + c);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) store(sums, rows, row, sum);
}

template <class S>
__global__ void __launch_bounds__(kThreads)
    normalize_kernel(const num::Plane<S>* x, num::Plane<S>* y, int64_t rows, int64_t cols,
                     num::Plane<S> eps) {
  const int64_t row = blockIdx.x;
  const int64_t plane = rows * cols;
  S sum{};
  for (int64_t c = threadIdx.x; c < cols; c += blockDim.x) {
    const S number = load<S>(x, plane, row * cols + c);
    sum += number * number;
  }
  const S scale = num::rsqrt(block_sum(sum) / num::Plane<S>(cols) + eps);
  for (int64_t c = threadIdx.x; c < cols; c += blockDim.x) {
    store<S>(y, plane, row * cols + c, load<S>(x, plane, row * cols + c) * scale);
  }
}

}  // namespace

template <class S>
void sum_rows(const num::Plane<S>* x, num::Plane<S>* sums, int64_t rows, int64_t cols,
              cudaStream_t stream) {
  launch(static_cast<unsigned>(rows), kThreads, 0, stream, sum_kernel<S>, x, sums, rows, cols);
}

template <class S>
void normalize_rows(const num::Plane<S>* x, num::Plane<S>* y, int64_t rows, int64_t cols,
                    num::Plane<S> eps, cudaStream_t stream) {
  launch(static_cast<unsigned>(rows), kThreads, 0, stream, normalize_kernel<S>, x, y, rows, cols,
         eps);
}

#define SADDLE_INSTANTIATE(S)                 \
  template decltype(sum_rows<S>) sum_rows<S>; \
  template decltype(normalize_rows<S>) normalize_rows<S>;
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle
