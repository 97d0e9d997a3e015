// What the CUDA sources of these tests must say differently to nvcc and to g++, beyond what those
// of saddle do (backend/cuda/language.h): shared memory whose size the launch gives.
#pragma once

#include "backend/cuda/language.h"

#ifdef __CUDACC__

// T* name: the shared memory that the launch asks for.
#define SADDLE_DYNAMIC_SHARED(T, name)                                   \
  extern __shared__ __align__(16) unsigned char saddle_dynamic_shared[]; \
  T* const name = reinterpret_cast<T*>(saddle_dynamic_shared)

#else

#define SADDLE_DYNAMIC_SHARED(T, name) \
  T* const name = static_cast<T*>(::emulated::dynamic_shared_memory())

#endif

namespace saddle {

using backend::cuda::launch;

}  // namespace saddle
