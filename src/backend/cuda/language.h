// What a CUDA source must say differently to nvcc and to g++, which compiles the same sources for
// tests against emulated headers: shared memory and launches.
#pragma once

#include <cuda_runtime.h>

#include <utility>

#ifdef __CUDACC__

// T* name: `count` numbers of shared memory. Bytes, because T may have a constructor.
#define SADDLE_SHARED(T, name, count)                                        \
  __shared__ __align__(16) unsigned char name##_memory[sizeof(T) * (count)]; \
  T* const name = reinterpret_cast<T*>(name##_memory)

#else

#define SADDLE_SHARED(T, name, count)                                                 \
  static constinit ::emulated::SharedArray name##_memory{sizeof(T) * (count), #name}; \
  T* const name = static_cast<T*>(::emulated::shared_memory(name##_memory))

#endif

namespace saddle::backend::cuda {

// Queues `kernel` on `stream`, with `shared_bytes` of dynamic shared memory for each block;
// cudaGetLastError() returns what is wrong with the geometry.
template <class... Parameters, class... Arguments>
void launch(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
            void (*kernel)(Parameters...), Arguments&&... arguments) {
#ifdef __CUDACC__
  kernel<<<grid, block, shared_bytes, stream>>>(std::forward<Arguments>(arguments)...);
#else
  emulated::launch(grid, block, shared_bytes, stream, kernel,
                   std::forward<Arguments>(arguments)...);
#endif
}

}  // namespace saddle::backend::cuda
