#include "backend/gemm.h"

#include <blis-openmp/blis.h>
#include <blis-openmp/cblas.h>
#include <dnnl.h>
#include <omp.h>

#include <algorithm>
#include <limits>

#include "backend/cpu/libraries.h"
#include "backend/parallel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/narrow.h"

namespace saddle::backend {
namespace {

CBLAS_TRANSPOSE cblas(Transpose t) {
  return t == Transpose::kYes ? CblasTrans : CblasNoTrans;
}

// The operands of one call of gemm().
struct Product {
  Transpose a, b;
  int64_t m, n, k;
  float alpha;
  const float* A;
  int64_t lda;
  const float* B;
  int64_t ldb;
  float beta;
  float* C;
  int64_t ldc;
};

GemmShape shape_of(const Product& p) {
  return {p.a, p.b, p.m, p.n, p.k};
}

void call_library(const Product& p) {
  const dnnl_status_t status =
      dnnl_sgemm(p.a == Transpose::kYes ? 'T' : 'N', p.b == Transpose::kYes ? 'T' : 'N', p.m, p.n,
                 p.k, p.alpha, p.A, p.lda, p.B, p.ldb, p.beta, p.C, p.ldc);
  if (status != dnnl_success) {
    fail(ErrorKind::kInternal, "oneDNN refused a product [{}, {}] x [{}, {}] (status {})", p.m, p.k,
         p.k, p.n, static_cast<int>(status));
  }
}

Product rows_of(Product p, int64_t first, int64_t count) {
  p.A += p.a == Transpose::kYes ? first : first * p.lda;
  p.C += first * p.ldc;
  p.m = count;
  return p;
}

Product columns_of(Product p, int64_t first, int64_t count) {
  p.B += p.b == Transpose::kYes ? first * p.ldb : first;
  p.C += first;
  p.n = count;
  return p;
}

void run(Context& context, const Product& p, GemmSharing sharing) {
  if (sharing == GemmSharing::kLibrary) return call_library(p);
  const bool rows = sharing == GemmSharing::kRows;
  const int64_t extent = rows ? p.m : p.n;
  // Shares of whole vector registers, so that each thread's part is regular.
  constexpr int64_t kUnit = 16;
  const int64_t units = (extent + kUnit - 1) / kUnit;
  const int64_t share = (units + context.threads() - 1) / context.threads() * kUnit;
  parallel_for(context, (extent + share - 1) / share, [&](int64_t i) {
    const int64_t first = i * share;
    const int64_t count = std::min(share, extent - first);
    call_library(rows ? rows_of(p, first, count) : columns_of(p, first, count));
  });
}

// The way that takes the least time for this product, best of three each.
GemmSharing fastest_sharing(Context& context, const Product& p) {
  GemmSharing best = GemmSharing::kLibrary;
  double least = std::numeric_limits<double>::infinity();
  for (const GemmSharing sharing :
       {GemmSharing::kLibrary, GemmSharing::kRows, GemmSharing::kColumns}) {
    for (int i = 0; i < 3; ++i) {
      const Stopwatch watch;
      run(context, p, sharing);
      if (watch.seconds() < least) {
        least = watch.seconds();
        best = sharing;
      }
    }
  }
  return best;
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
  const Product all{a, b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc};
  if (omp_in_parallel() != 0) return call_library(all);
  // The library's threads are a setting of the calling thread, which another context may have
  // changed. In a parallel loop it uses one.
  omp_set_num_threads(context.threads());
  GemmChoices& choices = context.gemm_choices();
  const GemmSharing* choice = choices.find(shape_of(all));
  if (choice == nullptr && choices.tuning()) {
    choices.keep(shape_of(all), fastest_sharing(context, all));
    choice = choices.find(shape_of(all));
  }
  run(context, all, choice == nullptr ? GemmSharing::kLibrary : *choice);
}

void gemm(Context& context, Transpose a, Transpose b, int64_t m, int64_t n, int64_t k, double alpha,
          const double* A, int64_t lda, const double* B, int64_t ldb, double beta, double* C,
          int64_t ldc) {
  if (m == 0 || n == 0) return;
  // BLIS runs each share of the rows on one thread, and the shares are the same whatever the number
  // of threads: so are the sums.
  constexpr int64_t kRows = 64;
  const int columns = narrow<int>(n);
  const int inner = narrow<int>(k);
  const int stride_a = narrow<int>(lda);
  const int stride_b = narrow<int>(ldb);
  const int stride_c = narrow<int>(ldc);
  const auto share = [&](int64_t i) {
    const int64_t first = i * kRows;
    const auto rows = static_cast<int>(std::min(kRows, m - first));
    const double* part = A + (a == Transpose::kYes ? first : first * lda);
    cblas_dgemm(CblasRowMajor, cblas(a), cblas(b), rows, columns, inner, alpha, part, stride_a, B,
                stride_b, beta, C + first * ldc, stride_c);
  };
  const int64_t shares = (m + kRows - 1) / kRows;
  if (omp_in_parallel() != 0) {
    for (int64_t i = 0; i < shares; ++i) share(i);
  } else {
    parallel_for(context, shares, share);
  }
}

}  // namespace saddle::backend
