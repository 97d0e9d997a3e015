// Turns failures of CUDA's functions into Errors.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include "base/error.h"

namespace saddle::backend::cuda {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  fail(ErrorKind::kDevice, "CUDA: {} failed: {} ({})", what, cudaGetErrorString(status),
       cudaGetErrorName(status));
}

inline void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail(ErrorKind::kDevice, "cuBLASLt: {} failed: {} ({})", what, cublasLtGetStatusString(status),
       cublasLtGetStatusName(status));
}

}  // namespace saddle::backend::cuda
