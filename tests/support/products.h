// Products with one argument for each field of a request, for tests with many of them.
#pragma once

#include <type_traits>

#include "backend/gemm.h"

namespace saddle::backend {

template <class T>
void gemm_batch(Context& context, const GemmBatch& batch, Transpose a, Transpose b, int64_t m,
                int64_t n, int64_t k, std::type_identity_t<T> alpha, const T* A, int64_t lda,
                const T* B, int64_t ldb, std::type_identity_t<T> beta, T* C, int64_t ldc) {
  multiply(context, GemmCall<T>{batch, a, b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc});
}

template <class T>
void gemm(Context& context, Transpose a, Transpose b, int64_t m, int64_t n, int64_t k,
          std::type_identity_t<T> alpha, const T* A, int64_t lda, const T* B, int64_t ldb,
          std::type_identity_t<T> beta, T* C, int64_t ldc) {
  gemm_batch<T>(context, {}, a, b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

}  // namespace saddle::backend
