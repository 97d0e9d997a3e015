// Code shared by all operations: their types, scratch memory, products of number types.
//
// An operation is a function of a context and views. It checks the shapes, and it reads and writes
// only memory of the context's device, by loops over rows (ops/rows.h) and products.
//
// S is a number type, L the type in which inputs of products are stored: S itself, or Bf16 under
// autocast, where S = Arithmetic<L> is float. Storing as Bf16 rounds (num/bf16.h).
//
// Dimension letters, here and in every header of this folder: N workers, B sequences, T positions,
// M = B*T rows of a worker, C width, H heads, F ffn width, V vocabulary, D parameters. The adjoint
// of x is dx. "Accumulated" means added to the old contents; "written" means they are overwritten.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "backend/gemm.h"
#include "backend/tensor.h"
#include "base/error.h"
#include "num/number_types.h"
#include "num/wide.h"
#include "ops/rows.h"
#include "tensor/view.h"

namespace saddle::ops {

using backend::GemmBatch;
using backend::GemmLevel;
using backend::Transpose;
using num::Arithmetic;
using num::Bf16;
using num::Plane;
using num::Scalar;
using tensor::Span;
using tensor::View;

// `count` numbers of scratch.
template <class S>
Span<S> scratch(backend::Workspace::Scope& scope, int64_t count) {
  return {scope.take<Plane<S>>(count * num::kPlanes<S>), count};
}

// Contiguous scratch [workers, rows, cols].
template <class S>
View<S> scratch_view(backend::Workspace::Scope& scope, int64_t workers, int64_t rows,
                     int64_t cols) {
  const int64_t size = workers * rows * cols;
  return {scratch<S>(scope, size).data, workers, rows, cols, rows * cols, cols, size};
}

// Bytes of a number of each of the types.
template <class... S>
constexpr int64_t bytes_of() {
  return (static_cast<int64_t>(sizeof(Plane<S>) * num::kPlanes<S>) + ... + 0);
}

// C = alpha op(A) op(B) + beta C over the planes of S, in ordinary products: 1 for a real number,
// 3 for a dual number, 6 for a jet. op(A) is [m, k], op(B) [k, n]; ld* are distances between rows.
// For a batch, A, B and C are the operands of the first product. Products of Bf16 are summed in
// float and stored as R, Bf16 or float.
template <class S, class R = S>
void products(Context& context, GemmBatch batch, Transpose a, Transpose b, int64_t m, int64_t n,
              int64_t k, Scalar<S> alpha, Span<const S> A, int64_t lda, Span<const S> B,
              int64_t ldb, Scalar<S> beta, Span<R> C, int64_t ldc) {
  // Plane p of a product is the sum over i + j = p of binomial(p, i) A_i B_j (Leibniz).
  for (int p = 0; p < num::kPlanes<S>; ++p) {
    Scalar<S> old = beta;
    for (int i = 0; i <= p; ++i) {
      const Scalar<S> binomial = (p == 2 && i == 1) ? Scalar<S>(2) : Scalar<S>(1);
      backend::multiply(context, backend::GemmCall<Plane<S>, Plane<R>>{
                                     batch, a, b, m, n, k, alpha * binomial, A.plane(i), lda,
                                     B.plane(p - i), ldb, old, C.plane(p), ldc});
      old = Scalar<S>(1);
    }
  }
}

// The same for one product.
template <class S, class R = S>
void product(Context& context, Transpose a, Transpose b, int64_t m, int64_t n, int64_t k,
             Scalar<S> alpha, Span<const S> A, int64_t lda, Span<const S> B, int64_t ldb,
             Scalar<S> beta, Span<R> C, int64_t ldc) {
  products<S, R>(context, {}, a, b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

inline void check_shape(bool fits, const char* operation, const char* what) {
  if (!fits)
    fail(ErrorKind::kInternal, "{}: {} does not have the shape of the others", operation, what);
}

}  // namespace saddle::ops
