// One call of cublasLtMatmul() with everything that it needs, for the tests.
#pragma once

#include <cublasLt.h>

#include "emulated_cuda/device_vector.h"

namespace saddle {

// A matrix as cuBLASLt sees it: column-major.
struct LtMatrix {
  uint64_t rows, cols;
  int64_t ld;
  cudaDataType type = CUDA_R_32F;
  int64_t offset = 0;  // from one of the batch to the next
};

struct LtProduct {
  LtMatrix a, b, d;
  bool transpose_a = false, transpose_b = false;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  int32_t batch = 1;
  bool pointers = false;  // the batch is given by arrays of pointers
  bool device_factors = false;
  uint32_t alignment = 16;
  uint64_t workspace = 0;  // that the preference allows
};

class LtCall {
 public:
  explicit LtCall(const LtProduct& product) : product_(product) {
    cublasLtCreate(&handle_);
    const cudaDataType scale = product.compute == CUBLAS_COMPUTE_64F ? CUDA_R_64F : CUDA_R_32F;
    cublasLtMatmulDescCreate(&desc_, product.compute, scale);
    set_transpose(CUBLASLT_MATMUL_DESC_TRANSA, product.transpose_a);
    set_transpose(CUBLASLT_MATMUL_DESC_TRANSB, product.transpose_b);
    const int32_t mode =
        product.device_factors ? CUBLASLT_POINTER_MODE_DEVICE : CUBLASLT_POINTER_MODE_HOST;
    cublasLtMatmulDescSetAttribute(desc_, CUBLASLT_MATMUL_DESC_POINTER_MODE, &mode, sizeof(mode));
    a_ = layout(product.a);
    b_ = layout(product.b);
    d_ = layout(product.d);
    cublasLtMatmulPreferenceCreate(&preference_);
    cublasLtMatmulPreferenceSetAttribute(preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &product.workspace, sizeof(product.workspace));
    for (const auto which :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      cublasLtMatmulPreferenceSetAttribute(preference_, which, &product.alignment,
                                           sizeof(product.alignment));
    }
  }
  ~LtCall() {
    cublasLtMatmulPreferenceDestroy(preference_);
    for (const cublasLtMatrixLayout_t made : {a_, b_, d_}) cublasLtMatrixLayoutDestroy(made);
    cublasLtMatmulDescDestroy(desc_);
    cublasLtDestroy(handle_);
  }
  LtCall(const LtCall&) = delete;
  LtCall& operator=(const LtCall&) = delete;

  cublasStatus_t choose() {
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_, desc_, a_, b_, d_, d_,
                                                                 preference_, 1, &chosen_, &found);
    if (status == CUBLAS_STATUS_SUCCESS) {
      EXPECT_EQ(found, 1);
      EXPECT_EQ(chosen_.state, CUBLAS_STATUS_SUCCESS);
    }
    return status;
  }

  // D = alpha op(A) op(B) + beta D, with the chosen algorithm.
  cublasStatus_t queue(const void* alpha, const void* a, const void* b, const void* beta, void* d,
                       cudaStream_t stream, void* workspace = nullptr, size_t bytes = 0) {
    return cublasLtMatmul(handle_, desc_, alpha, a, a_, b, b_, beta, d, d_, d, d_, &chosen_.algo,
                          workspace, bytes, stream);
  }

  void take_algorithm_of(const LtCall& other) { chosen_ = other.chosen_; }
  const cublasLtMatmulHeuristicResult_t& chosen() const { return chosen_; }

 private:
  void set_transpose(cublasLtMatmulDescAttributes_t which, bool transpose) {
    const int32_t operation = transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtMatmulDescSetAttribute(desc_, which, &operation, sizeof(operation));
  }

  cublasLtMatrixLayout_t layout(const LtMatrix& matrix) const {
    cublasLtMatrixLayout_t made = nullptr;
    cublasLtMatrixLayoutCreate(&made, matrix.type, matrix.rows, matrix.cols, matrix.ld);
    cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &product_.batch,
                                     sizeof(product_.batch));
    cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                     &matrix.offset, sizeof(matrix.offset));
    const uint32_t mode =
        product_.pointers ? CUBLASLT_BATCH_MODE_POINTER_ARRAY : CUBLASLT_BATCH_MODE_STRIDED;
    cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, &mode, sizeof(mode));
    return made;
  }

  LtProduct product_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  cublasLtMatmulHeuristicResult_t chosen_{};
};

}  // namespace saddle
