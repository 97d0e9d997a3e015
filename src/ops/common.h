// Code that the operations share: loops over rows, scratch in planes, products of planes.
//
// Dimension letters, here and in every header of this folder: N workers, B sequences, T positions,
// M = B*T rows of a worker, C width, H heads, F ffn width, V vocabulary, D parameters. The adjoint
// of x is dx. "Accumulated" means added to the old contents; "written" means they are overwritten.
#pragma once

#include <cstdint>
#include <span>

#include "backend/gemm.h"
#include "backend/parallel.h"
#include "backend/tensor.h"
#include "base/error.h"
#include "num/number_types.h"
#include "num/wide.h"
#include "tensor/view.h"

namespace saddle::ops {

using backend::Context;
using backend::Transpose;
using num::Plane;
using tensor::Span;
using tensor::View;

// The iterations of the loop that follows do not depend on each other's writes.
#define SADDLE_INDEPENDENT _Pragma("GCC ivdep")

// fn(worker, row) for all rows of all workers.
template <class Fn>
void for_rows(Context& context, int64_t workers, int64_t rows, Fn&& fn) {
  constexpr int64_t kRows = 8;  // enough rows per block to be worth the overhead of a thread
  const int64_t total = workers * rows;
  backend::parallel_for(context, (total + kRows - 1) / kRows, [&](int64_t block) {
    const int64_t end = std::min(total, (block + 1) * kRows);
    for (int64_t i = block * kRows; i < end; ++i) fn(i / rows, i % rows);
  });
}

// `count` numbers of scratch.
template <class S>
Span<S> scratch(backend::Workspace::Scope& scope, int64_t count) {
  return {scope.take<Plane<S>>(count * num::kPlanes<S>), count};
}

// The bytes that scratch<S>(count) takes.
template <class S>
constexpr int64_t scratch_bytes(int64_t count) {
  return (count * num::kPlanes<S> * static_cast<int64_t>(sizeof(Plane<S>)) + 63) / 64 * 64;
}

// C = alpha op(A) op(B) + beta C over the planes of S, in ordinary products: 1 for a real number,
// 3 for a dual number, 6 for a jet. op(A) is [m, k], op(B) [k, n]; ld* are distances between rows.
// For a batch, A, B and C are the operands of the first product.
template <class S>
void products(Context& context, backend::GemmBatch batch, Transpose a, Transpose b, int64_t m,
              int64_t n, int64_t k, Plane<S> alpha, Span<const S> A, int64_t lda, Span<const S> B,
              int64_t ldb, Plane<S> beta, Span<S> C, int64_t ldc) {
  // Plane p of a product is the sum over i + j = p of binomial(p, i) A_i B_j (Leibniz).
  for (int p = 0; p < num::kPlanes<S>; ++p) {
    Plane<S> old = beta;
    for (int i = 0; i <= p; ++i) {
      const Plane<S> binomial = (p == 2 && i == 1) ? Plane<S>(2) : Plane<S>(1);
      backend::gemm_batch(context, batch, a, b, m, n, k, alpha * binomial, A.plane(i), lda,
                          B.plane(p - i), ldb, old, C.plane(p), ldc);
      old = Plane<S>(1);
    }
  }
}

// The same for one product.
template <class S>
void product(Context& context, Transpose a, Transpose b, int64_t m, int64_t n, int64_t k,
             Plane<S> alpha, Span<const S> A, int64_t lda, Span<const S> B, int64_t ldb,
             Plane<S> beta, Span<S> C, int64_t ldc) {
  products<S>(context, {}, a, b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

inline void check_shape(bool fits, const char* operation, const char* what) {
  if (!fits)
    fail(ErrorKind::kInternal, "{}: {} does not have the shape of the others", operation, what);
}

}  // namespace saddle::ops
