// A request for products of ordinary matrices.
#pragma once

#include <cstdint>

#include "num/bf16.h"

namespace saddle::backend {

enum class Transpose { kNo, kYes };

// Some products of one shape, and the distances between their operands. A distance of 0 repeats an
// operand.
struct GemmLevel {
  int64_t count = 1;
  int64_t stride_a = 0;
  int64_t stride_b = 0;
  int64_t stride_c = 0;
};

// Products at two levels, for example the heads of several sequences: product (i, j) has the
// operands of outer product i and, in these, of inner product j.
struct GemmBatch {
  GemmLevel outer;
  GemmLevel inner;

  GemmBatch() = default;
  GemmBatch(GemmLevel only) : outer(only) {}  // NOLINT: one level is a batch
  GemmBatch(GemmLevel outer_level, GemmLevel inner_level)
      : outer(outer_level), inner(inner_level) {}

  int64_t count() const { return outer.count * inner.count; }
};

// C = alpha op(A) op(B) + beta C for each product of a batch, row-major: op(A) is [m, k], op(B)
// [k, n], C [m, n]; lda, ldb, ldc are the distances between stored rows. If beta = 0, the old C is
// not read. A, B and C are the operands of the first product. T is float, double, or Bf16, whose
// products are summed in float; the result R of products of Bf16 is Bf16 or float.
template <class T, class R = T>
struct GemmCall {
  using Factor = num::Arithmetic<T>;

  GemmBatch batch;
  Transpose transpose_a = Transpose::kNo;
  Transpose transpose_b = Transpose::kNo;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  Factor alpha = 1;
  const T* A = nullptr;
  int64_t lda = 0;
  const T* B = nullptr;
  int64_t ldb = 0;
  Factor beta = 0;
  R* C = nullptr;
  int64_t ldc = 0;

  // Product i of the batch, inner products first.
  GemmCall at(int64_t i) const {
    const int64_t outer = i / batch.inner.count;
    const int64_t inner = i % batch.inner.count;
    GemmCall one = *this;
    one.batch = {};
    one.A += outer * batch.outer.stride_a + inner * batch.inner.stride_a;
    one.B += outer * batch.outer.stride_b + inner * batch.inner.stride_b;
    one.C += outer * batch.outer.stride_c + inner * batch.inner.stride_c;
    return one;
  }
};

}  // namespace saddle::backend
