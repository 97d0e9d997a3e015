// What a CUDA source must say differently to nvcc and to g++: shared memory and launches.
#pragma once

#include <cuda_runtime.h>

#include <utility>

#ifdef __CUDACC__

// T* name: `count` numbers of shared memory. Bytes, because T may have a constructor.
#define SADDLE_SHARED(T, name, count)                                        \
  __shared__ __align__(16) unsigned char name##_memory[sizeof(T) * (count)]; \
  T* const name = reinterpret_cast<T*>(name##_memory)

// T* name: the shared memory that the launch asks for.
#define SADDLE_DYNAMIC_SHARED(T, name)                                   \
  extern __shared__ __align__(16) unsigned char saddle_dynamic_shared[]; \
  T* const name = reinterpret_cast<T*>(saddle_dynamic_shared)

#else

#define SADDLE_SHARED(T, name, count)                                                 \
  static constinit ::emulated::SharedArray name##_memory{sizeof(T) * (count), #name}; \
  T* const name = static_cast<T*>(::emulated::shared_memory(name##_memory))

#define SADDLE_DYNAMIC_SHARED(T, name) \
  T* const name = static_cast<T*>(::emulated::dynamic_shared_memory())

#endif

namespace saddle {

// Queues `kernel` on `stream`; wrong geometries are found by cudaGetLastError().
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

}  // namespace saddle
