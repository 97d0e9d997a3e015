#include "emulated_cuda/kernels/numbers.h"

#include "emulated_cuda/kernels/lanes.h"

namespace saddle {
namespace {

constexpr int kNumberThreads = 32;

template <class S>
__global__ void all_functions_kernel(const num::Plane<S>* x, num::Plane<S>* y, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) store<S>(y, count, i, all_functions(load<S>(x, count, i)));
}

}  // namespace

template <class S>
void apply_all_functions(const num::Plane<S>* x, num::Plane<S>* y, int64_t count,
                         cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((count + kNumberThreads - 1) / kNumberThreads);
  launch(blocks, kNumberThreads, 0, stream, all_functions_kernel<S>, x, y, count);
}

#define SADDLE_INSTANTIATE(S) template decltype(apply_all_functions<S>) apply_all_functions<S>;
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle
