// Products of matrices in device memory, as cublasLtMatmul() describes them.
#pragma once

#include <array>
#include <string>

#include "cublasLt.h"
#include "runtime/memory.h"
#include "runtime/status.h"

struct cublasLtMatmulDescOpaque_t {
  int32_t compute = CUBLAS_COMPUTE_32F;
  int32_t scale = CUDA_R_32F;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transpose_a = CUBLAS_OP_N;
  int32_t transpose_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
};

struct cublasLtMatrixLayoutOpaque_t {
  uint32_t type = CUDA_R_32F;
  int32_t order = CUBLASLT_ORDER_COL;
  uint64_t rows = 0;
  uint64_t cols = 0;
  int64_t ld = 0;  // numbers from one column to the next
  int32_t batch_count = 1;
  int64_t batch_offset = 0;
  uint32_t batch_mode = CUBLASLT_BATCH_MODE_STRIDED;

  bool operator==(const cublasLtMatrixLayoutOpaque_t&) const = default;
};

namespace emulated {

using MatrixLayout = cublasLtMatrixLayoutOpaque_t;

enum Matrix { kA, kB, kC, kD };

struct Product {
  cublasLtMatmulDescOpaque_t desc;
  std::array<MatrixLayout, 4> layouts;    // of A, B, C, D
  std::array<const void*, 4> matrices{};  // D is written; under a pointer array, the array
  std::array<uint64_t, 4> alignment{};    // in bytes, of every matrix
  // Of the type `desc.scale`: where they are in pointer mode device, what they are in mode host.
  const void* device_alpha = nullptr;
  const void* device_beta = nullptr;
  double alpha = 1;
  double beta = 0;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;  // that the product overwrites
};

size_t bytes_of(uint32_t type);

struct Refusal {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  std::string why{};
  bool ok() const { return status == CUBLAS_STATUS_SUCCESS; }
};

// What the library checks of types, sizes and layouts, and that the matrices of D do not overlap.
Refusal check_layouts(const cublasLtMatmulDescOpaque_t& desc,
                      const std::array<MatrixLayout, 4>& layouts);

// Computes it, unless a matrix is not in device memory as a whole or not aligned.
Status multiply(const DeviceMemory& memory, const Product& product);

}  // namespace emulated
