#include <fmt/format.h>

#include "runtime/product.h"

namespace emulated {
namespace {

constexpr std::array<const char*, 4> kNames{"A", "B", "C", "D"};

template <class... Args>
Refusal invalid(fmt::format_string<Args...> format, Args&&... args) {
  return {CUBLAS_STATUS_INVALID_VALUE, fmt::format(format, std::forward<Args>(args)...)};
}

template <class... Args>
Refusal unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return {CUBLAS_STATUS_NOT_SUPPORTED, fmt::format(format, std::forward<Args>(args)...)};
}

const char* type_name(uint32_t type) {
  switch (type) {
    case CUDA_R_32F:
      return "float";
    case CUDA_R_64F:
      return "double";
    case CUDA_R_16BF:
      return "bf16";
    default:
      return "another type";
  }
}

// The table of the documentation of cublasLtMatmul(), as far as it is about these types.
bool is_supported(const cublasLtMatmulDescOpaque_t& desc, uint32_t inputs, uint32_t outputs) {
  switch (desc.compute) {
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      return desc.scale == CUDA_R_32F &&
             ((inputs == CUDA_R_32F && outputs == CUDA_R_32F) ||
              (inputs == CUDA_R_16BF && (outputs == CUDA_R_32F || outputs == CUDA_R_16BF)));
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return desc.scale == CUDA_R_32F && inputs == CUDA_R_32F && outputs == CUDA_R_32F;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return desc.scale == CUDA_R_64F && inputs == CUDA_R_64F && outputs == CUDA_R_64F;
    default:
      return false;
  }
}

Refusal check_types(const cublasLtMatmulDescOpaque_t& desc,
                    const std::array<MatrixLayout, 4>& layouts) {
  const uint32_t inputs = layouts[kA].type;
  const uint32_t outputs = layouts[kD].type;
  if (layouts[kB].type == inputs && layouts[kC].type == outputs &&
      is_supported(desc, inputs, outputs)) {
    return {};
  }
  return unsupported("A {}, B {}, C {}, D {}, computed in {}, scaled in {}: not supported",
                     type_name(inputs), type_name(layouts[kB].type), type_name(layouts[kC].type),
                     type_name(outputs), desc.compute,
                     type_name(static_cast<uint32_t>(desc.scale)));
}

Refusal check_shape(const char* name, const MatrixLayout& layout) {
  if (layout.order != CUBLASLT_ORDER_COL) {
    return unsupported("{}: only column-major matrices are emulated", name);
  }
  if (layout.rows == 0 || layout.cols == 0) {
    return invalid("{}: {} x {} is empty", name, layout.rows, layout.cols);
  }
  if (layout.ld < static_cast<int64_t>(layout.rows)) {
    return invalid("{}: the leading dimension {} is less than its {} rows", name, layout.ld,
                   layout.rows);
  }
  if (layout.batch_count < 1) return invalid("{}: {} matrices", name, layout.batch_count);
  return {};
}

// op(A) is [m, k], op(B) [k, n], C and D [m, n].
Refusal check_sizes(const cublasLtMatmulDescOpaque_t& desc,
                    const std::array<MatrixLayout, 4>& layouts) {
  const auto oriented = [](const MatrixLayout& layout, int32_t transpose) {
    const bool turned = transpose != CUBLAS_OP_N;
    return turned ? std::array{layout.cols, layout.rows} : std::array{layout.rows, layout.cols};
  };
  const auto a = oriented(layouts[kA], desc.transpose_a);
  const auto b = oriented(layouts[kB], desc.transpose_b);
  const auto& d = layouts[kD];
  if (a[1] != b[0] || a[0] != d.rows || b[1] != d.cols || layouts[kC].rows != d.rows ||
      layouts[kC].cols != d.cols) {
    return invalid("op(A) is {} x {}, op(B) {} x {}, C {} x {}, D {} x {}", a[0], a[1], b[0], b[1],
                   layouts[kC].rows, layouts[kC].cols, d.rows, d.cols);
  }
  return {};
}

// Two matrices whose begins are `apart` numbers apart share one exactly if some column of one
// begins less than `rows` from some column of the other.
bool overlap(const MatrixLayout& layout, int64_t apart) {
  const auto rows = static_cast<int64_t>(layout.rows);
  const auto cols = static_cast<int64_t>(layout.cols);
  if (apart < 0) apart = -apart;
  for (const int64_t column : {apart / layout.ld, apart / layout.ld + 1}) {
    const int64_t distance = apart - column * layout.ld;
    if (column < cols && distance < rows && -distance < rows) return true;
  }
  return false;
}

Refusal check_batch(const std::array<MatrixLayout, 4>& layouts) {
  for (const Matrix m : {kA, kB, kC}) {
    if (layouts[m].batch_count != layouts[kD].batch_count ||
        layouts[m].batch_mode != layouts[kD].batch_mode) {
      return invalid("{} has a batch of {} (mode {}), D one of {} (mode {})", kNames[m],
                     layouts[m].batch_count, layouts[m].batch_mode, layouts[kD].batch_count,
                     layouts[kD].batch_mode);
    }
  }
  if (layouts[kD].batch_mode != CUBLASLT_BATCH_MODE_STRIDED) return {};
  for (int64_t apart = 1; apart < layouts[kD].batch_count; ++apart) {
    if (overlap(layouts[kD], apart * layouts[kD].batch_offset)) {
      return invalid("matrices of D, {} numbers apart, overlap: {} x {} with leading dimension {}",
                     apart * layouts[kD].batch_offset, layouts[kD].rows, layouts[kD].cols,
                     layouts[kD].ld);
    }
  }
  return {};
}

}  // namespace

size_t bytes_of(uint32_t type) {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

Refusal check_layouts(const cublasLtMatmulDescOpaque_t& desc,
                      const std::array<MatrixLayout, 4>& layouts) {
  if (desc.epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
    return unsupported("epilogue {} is not emulated", desc.epilogue);
  }
  Refusal refusal = check_types(desc, layouts);
  for (const Matrix m : {kA, kB, kC, kD}) {
    if (refusal.ok()) refusal = check_shape(kNames[m], layouts[m]);
  }
  if (refusal.ok()) refusal = check_sizes(desc, layouts);
  if (refusal.ok()) refusal = check_batch(layouts);
  return refusal;
}

}  // namespace emulated
