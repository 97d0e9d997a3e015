#include "backend/cuda/products.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "backend/cuda/check.h"
#include "base/narrow.h"

namespace saddle::backend::cuda {
namespace {

// What cuBLAS recommends: 32 MiB from Hopper on, 4 MiB before.
size_t recommended_workspace() {
  int device = 0, major = 0;
  check(cudaGetDevice(&device), "the choice of the device");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
        "a property of the device");
  return size_t{major >= 9 ? 32U : 4U} << 20;
}

template <class T>
constexpr cudaDataType type_of() {
  if constexpr (std::is_same_v<T, num::Bf16>) return CUDA_R_16BF;
  return std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;
}
template <class T>
constexpr cublasComputeType_t compute_of() {
  return std::is_same_v<T, double> ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
}

// The largest power of two, at most 16, that divides all of these.
int64_t alignment_of(std::initializer_list<int64_t> numbers) {
  int64_t bits = 16;
  for (const int64_t number : numbers) bits |= number;
  return bits & -bits;
}

// Whether one batch covers both levels: outer products follow the inner ones at equal distances.
bool joined(const GemmBatch& batch, GemmLevel& all) {
  const auto& [outer, inner] = batch;
  if (inner.count == 1 || outer.count == 1) {
    all = inner.count == 1 ? outer : inner;
    return true;
  }
  all = inner;
  all.count *= outer.count;
  return outer.stride_a == inner.count * inner.stride_a &&
         outer.stride_b == inner.count * inner.stride_b &&
         outer.stride_c == inner.count * inner.stride_c;
}

template <class Attribute>
void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t name, Attribute value) {
  check(cublasLtMatrixLayoutSetAttribute(layout, name, &value, sizeof(value)), "a matrix layout");
}

// A row-major matrix [rows, cols] is its transpose to the library, which stores columns.
cublasLtMatrixLayout_t layout_of(cudaDataType type, int64_t rows, int64_t cols, int64_t ld,
                                 int64_t count, int64_t stride) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, type, static_cast<uint64_t>(cols),
                                   static_cast<uint64_t>(rows), ld),
        "a matrix layout");
  set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, narrow<int32_t>(count));
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  return layout;
}

}  // namespace

struct Products::Shape {
  Shape() = default;
  Shape(const Shape&) = delete;
  Shape& operator=(const Shape&) = delete;
  ~Shape() {
    for (const cublasLtMatrixLayout_t layout : {a, b, c}) {
      if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
    }
    if (product != nullptr) cublasLtMatmulDescDestroy(product);
  }

  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
};

Products::Products(cudaStream_t stream)
    : stream_(stream), workspace_bytes_(recommended_workspace()) {
  check(cublasLtCreate(&handle_), "its start");
  check(cudaMalloc(&workspace_, workspace_bytes_), "the workspace of products");
}

Products::~Products() {
  shapes_.clear();
  cudaStreamSynchronize(stream_);
  cudaFree(workspace_);
  cublasLtDestroy(handle_);
}

template <class T, class R>
Products::Shape& Products::shape_for(const GemmCall<T, R>& call, const GemmLevel& batch) {
  const auto in = [](int64_t numbers) { return numbers * static_cast<int64_t>(sizeof(T)); };
  const auto out = [](int64_t numbers) { return numbers * static_cast<int64_t>(sizeof(R)); };
  const auto address = [](const void* at) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(at));
  };
  const bool turned_a = call.transpose_a == Transpose::kYes;
  const bool turned_b = call.transpose_b == Transpose::kYes;
  const int64_t alignment =
      alignment_of({address(call.A), address(call.B), address(call.C), in(call.lda), in(call.ldb),
                    out(call.ldc), in(batch.stride_a), in(batch.stride_b), out(batch.stride_c)});
  const Key key{sizeof(T),      sizeof(R),      turned_a,    turned_b,
                call.m,         call.n,         call.k,      call.lda,
                call.ldb,       call.ldc,       batch.count, batch.stride_a,
                batch.stride_b, batch.stride_c, alignment,   call.beta != 0};
  std::unique_ptr<Shape>& known = shapes_[key];
  if (known != nullptr) return *known;
  auto shape = std::make_unique<Shape>();
  check(cublasLtMatmulDescCreate(&shape->product, compute_of<T>(),
                                 type_of<typename GemmCall<T, R>::Factor>()),
        "a product");
  // The library's columns are our rows, so C' = op(B)' op(A)': its first operand is our B.
  const int32_t first = turned_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const int32_t second = turned_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  check(cublasLtMatmulDescSetAttribute(shape->product, CUBLASLT_MATMUL_DESC_TRANSA, &first,
                                       sizeof(first)),
        "a product");
  check(cublasLtMatmulDescSetAttribute(shape->product, CUBLASLT_MATMUL_DESC_TRANSB, &second,
                                       sizeof(second)),
        "a product");
  shape->a = layout_of(type_of<T>(), turned_b ? call.n : call.k, turned_b ? call.k : call.n,
                       call.ldb, batch.count, batch.stride_b);
  shape->b = layout_of(type_of<T>(), turned_a ? call.k : call.m, turned_a ? call.m : call.k,
                       call.lda, batch.count, batch.stride_a);
  shape->c = layout_of(type_of<R>(), call.m, call.n, call.ldc, batch.count, batch.stride_c);

  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), "a preference");
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t name, auto value) {
    check(cublasLtMatmulPreferenceSetAttribute(preference, name, &value, sizeof(value)),
          "a preference");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(workspace_bytes_));
  for (const auto name :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    prefer(name, static_cast<uint32_t>(alignment));
  }
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, shape->product, shape->a, shape->b, shape->c,
                                     shape->c, preference, 1, &found, &count);
  cublasLtMatmulPreferenceDestroy(preference);
  check(status, "the choice of an algorithm");
  if (count == 0) {
    fail(ErrorKind::kDevice, "cuBLASLt has no algorithm for a product [{}, {}] x [{}, {}]", call.m,
         call.k, call.k, call.n);
  }
  shape->algorithm = found.algo;
  known = std::move(shape);
  return *known;
}

template <class T, class R>
void Products::multiply_level(const GemmCall<T, R>& call, const GemmLevel& batch) {
  const Shape& shape = shape_for(call, batch);
  check(cublasLtMatmul(handle_, shape.product, &call.alpha, call.B, shape.a, call.A, shape.b,
                       &call.beta, call.C, shape.c, call.C, shape.c, &shape.algorithm, workspace_,
                       workspace_bytes_, stream_),
        "a product");
}

template <class T, class R>
void Products::multiply(const GemmCall<T, R>& call) {
  GemmLevel all;
  if (joined(call.batch, all)) return multiply_level(call, all);
  // One call for each product of the level with fewer of them.
  const bool outer_is_shorter = call.batch.outer.count <= call.batch.inner.count;
  const GemmLevel& steps = outer_is_shorter ? call.batch.outer : call.batch.inner;
  const GemmLevel& batch = outer_is_shorter ? call.batch.inner : call.batch.outer;
  GemmCall<T, R> part = call;
  for (int64_t i = 0; i < steps.count; ++i) {
    part.A = call.A + i * steps.stride_a;
    part.B = call.B + i * steps.stride_b;
    part.C = call.C + i * steps.stride_c;
    multiply_level(part, batch);
  }
}

template void Products::multiply(const GemmCall<float>&);
template void Products::multiply(const GemmCall<double>&);
template void Products::multiply(const GemmCall<num::Bf16>&);
template void Products::multiply(const GemmCall<num::Bf16, float>&);

}  // namespace saddle::backend::cuda
