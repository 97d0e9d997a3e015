// Products of ordinary matrices with the library measured as fastest: oneDNN for float, BLIS for
// double (docs/performance.md).
#pragma once

#include <cstdint>
#include <string>

#include "backend/context.h"

namespace saddle::backend {

// Several products of one shape: how many, and the distances between their operands.
struct GemmBatch {
  int64_t count = 1;
  int64_t stride_a = 0;
  int64_t stride_b = 0;
  int64_t stride_c = 0;
};

// C = alpha op(A) op(B) + beta C, row-major: op(A) is [m, k], op(B) [k, n], C [m, n]; lda, ldb, ldc
// are the distances between stored rows. If beta = 0, the old C is not read. Uses the context's
// threads, or one when called from inside a parallel loop.
// While the context tunes its choices (backend/gemm_choices.h), a float product of a new shape is
// computed several times: if beta != 0, C is then meaningless.
void gemm(Context& context, Transpose a, Transpose b, int64_t m, int64_t n, int64_t k, float alpha,
          const float* A, int64_t lda, const float* B, int64_t ldb, float beta, float* C,
          int64_t ldc);
void gemm(Context& context, Transpose a, Transpose b, int64_t m, int64_t n, int64_t k, double alpha,
          const double* A, int64_t lda, const double* B, int64_t ldb, double beta, double* C,
          int64_t ldc);

// The same for each product of a batch, in one call. If the number of float products suits the
// threads, each product runs whole on one thread; its bits may then differ from those of gemm()
// with several threads. In double they do not.
void gemm_batch(Context& context, GemmBatch batch, Transpose a, Transpose b, int64_t m, int64_t n,
                int64_t k, float alpha, const float* A, int64_t lda, const float* B, int64_t ldb,
                float beta, float* C, int64_t ldc);
void gemm_batch(Context& context, GemmBatch batch, Transpose a, Transpose b, int64_t m, int64_t n,
                int64_t k, double alpha, const double* A, int64_t lda, const double* B, int64_t ldb,
                double beta, double* C, int64_t ldc);

// The library that computes products of T (float or double), with its version.
template <class T>
std::string product_library();
template <>
std::string product_library<float>();
template <>
std::string product_library<double>();

}  // namespace saddle::backend
