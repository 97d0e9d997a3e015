#include "runtime/product.h"

#include <bit>
#include <cstring>
#include <vector>

#include "num/bf16.h"

namespace emulated {
namespace {

constexpr std::array<const char*, 4> kNames{"A", "B", "C", "D"};

float load_bf16(const void* from, size_t i) {
  uint16_t upper;
  std::memcpy(&upper, static_cast<const char*>(from) + 2 * i, 2);
  return std::bit_cast<float>(static_cast<uint32_t>(upper) << 16);
}

void store_bf16(void* to, size_t i, float x) {
  const auto upper =
      static_cast<uint16_t>(std::bit_cast<uint32_t>(saddle::num::round_to_bf16(x)) >> 16);
  std::memcpy(static_cast<char*>(to) + 2 * i, &upper, 2);
}

// To 10 bits after the leading one, ties to even; infinity and NaN stay.
float round_to_tf32(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7f800000u) == 0x7f800000u) return x;
  return std::bit_cast<float>((bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u);
}

template <class T>
T load(const void* from, uint32_t type, size_t i) {
  if (type == CUDA_R_16BF) return static_cast<T>(load_bf16(from, i));
  T x;
  std::memcpy(&x, static_cast<const T*>(from) + i, sizeof(T));
  return x;
}

template <class T>
void store(void* to, uint32_t type, size_t i, T x) {
  if (type == CUDA_R_16BF) return store_bf16(to, i, static_cast<float>(x));
  std::memcpy(static_cast<T*>(to) + i, &x, sizeof(T));
}

// op(X) as [rows, cols], column-major without gaps.
template <class T>
std::vector<T> gather(const void* from, const MatrixLayout& layout, int32_t transpose, bool tf32) {
  const bool turned = transpose != CUBLAS_OP_N;
  const size_t rows = turned ? layout.cols : layout.rows;
  const size_t cols = turned ? layout.rows : layout.cols;
  const auto ld = static_cast<size_t>(layout.ld);
  std::vector<T> to(rows * cols);
  for (size_t c = 0; c < cols; ++c) {
    for (size_t r = 0; r < rows; ++r) {
      T x = load<T>(from, layout.type, turned ? c + r * ld : r + c * ld);
      if (tf32) x = static_cast<T>(round_to_tf32(static_cast<float>(x)));
      to[c * rows + r] = x;
    }
  }
  return to;
}

// y += x * factor. The address sanitizer has nothing to find here: both are whole vectors.
template <class T>
__attribute__((no_sanitize("address", "undefined"))) void add_multiple(size_t count, T factor,
                                                                       const T* x, T* y) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) y[i] += factor * x[i];
}

template <class T>
void multiply_one(const Product& product, const std::array<const void*, 4>& matrices, T alpha,
                  T beta) {
  const auto& layouts = product.layouts;
  const bool tf32 = product.desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const std::vector<T> a = gather<T>(matrices[kA], layouts[kA], product.desc.transpose_a, tf32);
  const std::vector<T> b = gather<T>(matrices[kB], layouts[kB], product.desc.transpose_b, tf32);
  const size_t m = layouts[kD].rows;
  const size_t n = layouts[kD].cols;
  const size_t k = a.size() / m;
  std::vector<T> column(m);
  for (size_t j = 0; j < n; ++j) {
    std::fill(column.begin(), column.end(), T(0));
    for (size_t l = 0; l < k; ++l) add_multiple(m, b[j * k + l], a.data() + l * m, column.data());
    for (size_t i = 0; i < m; ++i) {
      T x = alpha * column[i];
      if (beta != T(0)) {  // else C is not read
        x += beta *
             load<T>(matrices[kC], layouts[kC].type, i + j * static_cast<size_t>(layouts[kC].ld));
      }
      store<T>(const_cast<void*>(matrices[kD]), layouts[kD].type,
               i + j * static_cast<size_t>(layouts[kD].ld), x);
    }
  }
}

// Where matrix `index` of a batch begins. A pointer array lies in device memory itself.
const void* begin_of(const Product& product, Matrix m, int64_t index) {
  const MatrixLayout& layout = product.layouts[m];
  const char* const base = static_cast<const char*>(product.matrices[m]);
  if (layout.batch_mode == CUBLASLT_BATCH_MODE_STRIDED) {
    return base + index * layout.batch_offset * static_cast<int64_t>(bytes_of(layout.type));
  }
  const void* pointer;
  std::memcpy(&pointer, base + static_cast<size_t>(index) * sizeof(pointer), sizeof(pointer));
  return pointer;
}

Status check_pointer_array(const DeviceMemory& memory, const Product& product, Matrix m) {
  const MatrixLayout& layout = product.layouts[m];
  if (layout.batch_mode == CUBLASLT_BATCH_MODE_STRIDED) return {};
  const std::string outside = memory.why_outside(
      product.matrices[m], static_cast<size_t>(layout.batch_count) * sizeof(void*));
  if (outside.empty()) return {};
  return refuse(cudaErrorIllegalAddress, "cublasLtMatmul: the pointers to {}: {}", kNames[m],
                outside);
}

Status check_matrix(const DeviceMemory& memory, const Product& product, Matrix m, int64_t index,
                    const void* begin) {
  const MatrixLayout& layout = product.layouts[m];
  const size_t bytes =
      ((layout.cols - 1) * static_cast<size_t>(layout.ld) + layout.rows) * bytes_of(layout.type);
  const std::string outside = memory.why_outside(begin, bytes);
  if (!outside.empty()) {
    return refuse(cudaErrorIllegalAddress,
                  "cublasLtMatmul: {} ({} x {}, leading dimension {}, number {} of {}): {}",
                  kNames[m], layout.rows, layout.cols, layout.ld, index, layout.batch_count,
                  outside);
  }
  // The library knows strides when it chooses an algorithm, so they need not be aligned.
  const bool strided = layout.batch_mode == CUBLASLT_BATCH_MODE_STRIDED;
  const uint64_t alignment = strided && index > 0 ? bytes_of(layout.type) : product.alignment[m];
  if (reinterpret_cast<uintptr_t>(begin) % alignment == 0) return {};
  return refuse(cudaErrorMisalignedAddress,
                "cublasLtMatmul: {} (number {} of {}) is not aligned to {} bytes", kNames[m], index,
                layout.batch_count, alignment);
}

Status read_factor(const DeviceMemory& memory, const Product& product, const char* name,
                   const void* pointer, double* factor) {
  if (product.desc.pointer_mode == CUBLASLT_POINTER_MODE_HOST) return {};
  const auto type = static_cast<uint32_t>(product.desc.scale);
  const std::string outside = memory.why_outside(pointer, bytes_of(type));
  if (!outside.empty()) {
    return refuse(cudaErrorIllegalAddress, "cublasLtMatmul: {}: {}", name, outside);
  }
  *factor = type == CUDA_R_64F ? load<double>(pointer, type, 0)
                               : static_cast<double>(load<float>(pointer, type, 0));
  return {};
}

}  // namespace

Status multiply(const DeviceMemory& memory, const Product& product) {
  double alpha = product.alpha;
  double beta = product.beta;
  Status status = read_factor(memory, product, "alpha", product.device_alpha, &alpha);
  if (status.ok()) status = read_factor(memory, product, "beta", product.device_beta, &beta);
  if (status.ok() && product.workspace_bytes > 0) {
    const std::string outside = memory.why_outside(product.workspace, product.workspace_bytes);
    if (!outside.empty()) {
      return refuse(cudaErrorIllegalAddress, "cublasLtMatmul: the workspace: {}", outside);
    }
    std::memset(product.workspace, 0xff, product.workspace_bytes);
  }
  const bool reads_c = beta != 0;
  for (const Matrix m : {kA, kB, kC, kD}) {
    if (status.ok() && (m != kC || reads_c)) status = check_pointer_array(memory, product, m);
  }
  for (int64_t index = 0; status.ok() && index < product.layouts[kD].batch_count; ++index) {
    std::array<const void*, 4> matrices{};
    for (const Matrix m : {kA, kB, kC, kD}) {
      if (!status.ok() || (m == kC && !reads_c)) continue;
      matrices[m] = begin_of(product, m, index);
      status = check_matrix(memory, product, m, index, matrices[m]);
    }
    if (!status.ok()) break;
    if (product.desc.scale == CUDA_R_64F) {
      multiply_one<double>(product, matrices, alpha, beta);
    } else {
      multiply_one<float>(product, matrices, static_cast<float>(alpha), static_cast<float>(beta));
    }
  }
  return status;
}

}  // namespace emulated
