// Launching kernels: what kernel<<<grid, block, shared_bytes, stream>>>(arguments...) is for nvcc.
#pragma once

#include <functional>
#include <tuple>
#include <type_traits>

#include "emulated/vector_types.h"

typedef struct CUstream_st* cudaStream_t;

namespace emulated {

// Queues `body`, to be called once for each thread of each block. A wrong geometry is an error that
// cudaGetLastError() returns, as after a real launch.
void queue_launch(const void* kernel, dim3 grid, dim3 block, size_t shared_bytes,
                  cudaStream_t stream, std::function<void()> body);

// Copies the arguments now, converted to the kernel's parameters; they are plain bytes to CUDA.
template <class... Parameters, class... Arguments>
void launch(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
            void (*kernel)(Parameters...), Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments), "one argument for each parameter");
  static_assert((!std::is_reference_v<Parameters> && ...),
                "a reference to host memory means nothing on the device");
  static_assert((std::is_trivially_copyable_v<Parameters> && ...),
                "a kernel's parameters are copied as bytes");
  static_assert((sizeof(Parameters) + ... + 0) <= 4096, "parameters of a kernel fit 4 KB");
  queue_launch(
      reinterpret_cast<const void*>(kernel), grid, block, shared_bytes, stream,
      [kernel, copies = std::tuple<std::remove_cv_t<Parameters>...>(
                   static_cast<Parameters>(arguments)...)] { std::apply(kernel, copies); });
}

}  // namespace emulated
