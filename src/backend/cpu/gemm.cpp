#include "backend/gemm.h"

#include <blis-openmp/blis.h>
#include <blis-openmp/cblas.h>
#include <dnnl.h>
#include <omp.h>

#include <algorithm>

#include "backend/cpu/libraries.h"
#include "backend/parallel.h"
#include "base/error.h"
#include "base/narrow.h"

namespace saddle::backend {
namespace {

CBLAS_TRANSPOSE cblas(Transpose t) {
  return t == Transpose::kYes ? CblasTrans : CblasNoTrans;
}

}  // namespace

void cpu::limit_library_threads(int threads) {
  omp_set_num_threads(threads);   // oneDNN's
  bli_thread_set_num_threads(1);  // BLIS is called from loops that are shared among threads already
}

void gemm(Context& context, Transpose a, Transpose b, int64_t m, int64_t n, int64_t k, float alpha,
          const float* A, int64_t lda, const float* B, int64_t ldb, float beta, float* C,
          int64_t ldc) {
  if (m == 0 || n == 0) return;
  // The library's threads are a setting of the calling thread, which another context may have
  // changed. In a parallel loop it uses one.
  if (omp_in_parallel() == 0) omp_set_num_threads(context.threads());
  const dnnl_status_t status =
      dnnl_sgemm(a == Transpose::kYes ? 'T' : 'N', b == Transpose::kYes ? 'T' : 'N', m, n, k, alpha,
                 A, lda, B, ldb, beta, C, ldc);
  if (status != dnnl_success) {
    fail(ErrorKind::kInternal, "oneDNN refused a product [{}, {}] x [{}, {}] (status {})", m, k, k,
         n, static_cast<int>(status));
  }
}

void gemm(Context& context, Transpose a, Transpose b, int64_t m, int64_t n, int64_t k, double alpha,
          const double* A, int64_t lda, const double* B, int64_t ldb, double beta, double* C,
          int64_t ldc) {
  if (m == 0 || n == 0) return;
  // BLIS runs each share of the rows on one thread: the sums do not depend on how many there are.
  constexpr int64_t kRows = 64;
  const int64_t shares = omp_in_parallel() != 0 ? 1 : (m + kRows - 1) / kRows;
  const int64_t rows = shares == 1 ? m : kRows;
  parallel_for(context, shares, [&](int64_t share) {
    const int64_t first = share * rows;
    const double* part = A + (a == Transpose::kYes ? first : first * lda);
    cblas_dgemm(CblasRowMajor, cblas(a), cblas(b), narrow<int>(std::min(rows, m - first)),
                narrow<int>(n), narrow<int>(k), alpha, part, narrow<int>(lda), B, narrow<int>(ldb),
                beta, C + first * ldc, narrow<int>(ldc));
  });
}

}  // namespace saddle::backend
