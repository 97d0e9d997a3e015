// cuBLASLt's functions: descriptions of products, and asking for one.
#include <algorithm>
#include <cstring>
#include <utility>

#include "cublasLt.h"
#include "runtime/device.h"
#include "runtime/product.h"

struct cublasLtContext {};

struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t workspace_bytes = 0;
  uint32_t reduction_schemes = ~0u;
  std::array<uint32_t, 4> alignment{256, 256, 256, 256};
};

namespace emulated {
namespace {

constexpr uint64_t kWorkspace = 64 << 10;
constexpr uint64_t kWorkspaceAlignment = 16;
constexpr std::array<const char*, 4> kNames{"A", "B", "C", "D"};

// What an algorithm was chosen for.
struct Algorithm {
  uint64_t kind;  // of the product, see kind_of()
  uint64_t workspace_bytes;
  uint32_t alignment[4];
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

// Types, transposes and batch mode. An algorithm may be used for other sizes of the same kind.
uint64_t kind_of(const cublasLtMatmulDescOpaque_t& desc,
                 const std::array<MatrixLayout, 4>& layouts) {
  uint64_t kind = 1;
  for (const auto part :
       {static_cast<uint64_t>(desc.compute), static_cast<uint64_t>(desc.scale),
        static_cast<uint64_t>(desc.transpose_a), static_cast<uint64_t>(desc.transpose_b),
        static_cast<uint64_t>(desc.pointer_mode), uint64_t{layouts[kA].type},
        uint64_t{layouts[kD].type}, uint64_t{layouts[kD].batch_mode}}) {
    kind = kind << 7 | part;
  }
  return kind;
}

cublasStatus_t answer(const Refusal& refusal) {
  if (!refusal.ok()) {
    device().why = refusal.why;
    device().why_code = cudaSuccess;
  }
  return refusal.status;
}

cublasStatus_t invalid(std::string why) {
  return answer({CUBLAS_STATUS_INVALID_VALUE, std::move(why)});
}

// Writes `bytes` of `value` to the field if that is its size.
template <class T>
cublasStatus_t set(T* field, const void* value, size_t bytes) {
  if (value == nullptr || bytes != sizeof(T)) {
    return invalid(fmt::format("an attribute of {} bytes was given as {}", sizeof(T), bytes));
  }
  std::memcpy(field, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t destroy(T* object) {
  delete object;
  return CUBLAS_STATUS_SUCCESS;
}

// Whether all of what a call needs is there.
bool complete(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
              std::initializer_list<cublasLtMatrixLayout_t> layouts) {
  return handle != nullptr && desc != nullptr &&
         std::none_of(layouts.begin(), layouts.end(), [](const auto* l) { return l == nullptr; });
}

double read_host_factor(const void* from, int32_t type) {
  if (type == CUDA_R_64F) return *static_cast<const double*>(from);
  return static_cast<double>(*static_cast<const float*>(from));
}

// Alignment and workspace, which depend on the algorithm. Without one the library takes what fits.
Refusal apply(const cublasLtMatmulAlgo_t* algo, size_t workspace_bytes, Product* product) {
  for (const Matrix m : {kA, kB, kC, kD}) {
    product->alignment[m] = bytes_of(product->layouts[m].type);
  }
  if (algo == nullptr) {
    product->workspace_bytes = std::min<size_t>(workspace_bytes, kWorkspace);
  } else {
    Algorithm chosen;
    std::memcpy(&chosen, algo, sizeof(chosen));
    if (chosen.kind != kind_of(product->desc, product->layouts)) {
      return {CUBLAS_STATUS_INVALID_VALUE,
              "the algorithm was chosen for other types, transposes or batch modes"};
    }
    if (chosen.workspace_bytes > workspace_bytes) {
      return {CUBLAS_STATUS_INVALID_VALUE,
              fmt::format("the algorithm needs a workspace of {} bytes, got {}",
                          chosen.workspace_bytes, workspace_bytes)};
    }
    product->workspace_bytes = chosen.workspace_bytes;
    for (const Matrix m : {kA, kB, kC, kD}) {
      product->alignment[m] = std::max<uint64_t>(product->alignment[m], chosen.alignment[m]);
    }
  }
  const auto workspace = reinterpret_cast<uintptr_t>(product->workspace);
  if (product->workspace_bytes > 0 && (workspace == 0 || workspace % kWorkspaceAlignment != 0)) {
    return {CUBLAS_STATUS_INVALID_VALUE, "the workspace is null or not aligned to 16 bytes"};
  }
  return {};
}

// The matrices themselves, as far as that is known before it runs.
Refusal check_matrices(const Product& product, bool reads_c) {
  for (const Matrix m : {kA, kB, kC, kD}) {
    if (m == kC && !reads_c) continue;
    const void* pointer = product.matrices[m];
    if (pointer == nullptr) {
      return {CUBLAS_STATUS_INVALID_VALUE, fmt::format("{} is null", kNames[m])};
    }
    const bool strided = product.layouts[m].batch_mode == CUBLASLT_BATCH_MODE_STRIDED;
    const uint64_t alignment = strided ? product.alignment[m] : sizeof(void*);
    if (reinterpret_cast<uintptr_t>(pointer) % alignment != 0) {
      return {CUBLAS_STATUS_INVALID_VALUE,
              fmt::format("{} is not aligned to {} bytes", kNames[m], alignment)};
    }
  }
  if (product.matrices[kC] == product.matrices[kD] &&
      !(product.layouts[kC] == product.layouts[kD])) {
    return {CUBLAS_STATUS_INVALID_VALUE, "C and D are the same memory with different layouts"};
  }
  return {};
}

Refusal queue_product(Product product, const void* alpha, const void* beta,
                      const cublasLtMatmulAlgo_t* algo, size_t workspace_bytes,
                      cudaStream_t stream) {
  Refusal refusal = check_layouts(product.desc, product.layouts);
  if (!refusal.ok()) return refusal;
  if (alpha == nullptr || beta == nullptr) {
    return {CUBLAS_STATUS_INVALID_VALUE, "alpha or beta is null"};
  }
  const bool on_host = product.desc.pointer_mode == CUBLASLT_POINTER_MODE_HOST;
  if (on_host) {
    product.alpha = read_host_factor(alpha, product.desc.scale);
    product.beta = read_host_factor(beta, product.desc.scale);
  } else {
    product.device_alpha = alpha;
    product.device_beta = beta;
  }
  refusal = apply(algo, workspace_bytes, &product);
  if (refusal.ok()) refusal = check_matrices(product, !on_host || product.beta != 0);
  if (!refusal.ok()) return refusal;
  const cudaError_t error = device().call([&](Device& self) {
    return self.queue(stream, {[&self, product] { return multiply(self.memory, product); },
                               {.library_calls = 1}});
  });
  if (error == cudaSuccess) return {};
  return {CUBLAS_STATUS_EXECUTION_FAILED, device().why};
}

}  // namespace
}  // namespace emulated

size_t cublasLtGetVersion() {
  return 130100;
}

const char* cublasLtGetStatusName(cublasStatus_t status) {
#define SADDLE_STATUS_NAME(name) \
  case name:                     \
    return #name;
  switch (status) {
    SADDLE_STATUS_NAME(CUBLAS_STATUS_SUCCESS)
    SADDLE_STATUS_NAME(CUBLAS_STATUS_NOT_INITIALIZED)
    SADDLE_STATUS_NAME(CUBLAS_STATUS_ALLOC_FAILED)
    SADDLE_STATUS_NAME(CUBLAS_STATUS_INVALID_VALUE)
    SADDLE_STATUS_NAME(CUBLAS_STATUS_ARCH_MISMATCH)
    SADDLE_STATUS_NAME(CUBLAS_STATUS_EXECUTION_FAILED)
    SADDLE_STATUS_NAME(CUBLAS_STATUS_INTERNAL_ERROR)
    SADDLE_STATUS_NAME(CUBLAS_STATUS_NOT_SUPPORTED)
  }
#undef SADDLE_STATUS_NAME
  return "unknown status";
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  const std::lock_guard lock(emulated::device().mutex);
  const std::string& why = emulated::device().why;
  return status == CUBLAS_STATUS_SUCCESS || why.empty() ? cublasLtGetStatusName(status)
                                                        : why.c_str();
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return emulated::destroy(handle);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                        cudaDataType scale) {
  *desc = new cublasLtMatmulDescOpaque_t{.compute = compute, .scale = scale};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  return emulated::destroy(desc);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  const std::lock_guard lock(emulated::device().mutex);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return emulated::set(&desc->compute, value, bytes);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return emulated::set(&desc->scale, value, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return emulated::set(&desc->pointer_mode, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return emulated::set(&desc->transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return emulated::set(&desc->transpose_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return emulated::set(&desc->epilogue, value, bytes);
  }
  return emulated::invalid(fmt::format("unknown attribute {}", static_cast<int>(attribute)));
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld) {
  *layout = new cublasLtMatrixLayoutOpaque_t{
      .type = static_cast<uint32_t>(type), .rows = rows, .cols = cols, .ld = ld};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return emulated::destroy(layout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t bytes) {
  const std::lock_guard lock(emulated::device().mutex);
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return emulated::set(&layout->type, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return emulated::set(&layout->order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return emulated::set(&layout->rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return emulated::set(&layout->cols, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return emulated::set(&layout->ld, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return emulated::set(&layout->batch_count, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return emulated::set(&layout->batch_offset, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_MODE:
      return emulated::set(&layout->batch_mode, value, bytes);
  }
  return emulated::invalid(fmt::format("unknown attribute {}", static_cast<int>(attribute)));
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return emulated::destroy(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  const std::lock_guard lock(emulated::device().mutex);
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return emulated::set(&preference->workspace_bytes, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return emulated::set(&preference->reduction_schemes, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return emulated::set(&preference->alignment[static_cast<size_t>(attribute) -
                                                  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
                           value, bytes);
  }
  return emulated::invalid(fmt::format("unknown attribute {}", static_cast<int>(attribute)));
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int asked,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* returned) {
  const std::lock_guard lock(emulated::device().mutex);
  *returned = 0;
  if (!emulated::complete(handle, desc, {a, b, c, d}) || preference == nullptr || asked < 1) {
    return emulated::invalid("something is null, or no algorithm is asked for");
  }
  const std::array<emulated::MatrixLayout, 4> layouts{*a, *b, *c, *d};
  const emulated::Refusal refusal = emulated::check_layouts(*desc, layouts);
  if (!refusal.ok()) return emulated::answer(refusal);
  emulated::Algorithm chosen{
      .kind = emulated::kind_of(*desc, layouts),
      .workspace_bytes = std::min(preference->workspace_bytes, emulated::kWorkspace),
      .alignment = {}};
  std::copy(preference->alignment.begin(), preference->alignment.end(), chosen.alignment);
  results[0] = {};
  std::memcpy(&results[0].algo, &chosen, sizeof(chosen));
  results[0].workspaceSize = chosen.workspace_bytes;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  results[0].wavesCount = 1;
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, size_t workspace_bytes, cudaStream_t stream) {
  const std::lock_guard lock(emulated::device().mutex);
  if (!emulated::complete(handle, desc, {a_layout, b_layout, c_layout, d_layout})) {
    return emulated::invalid("a handle, a description or a layout is null");
  }
  emulated::Product product;
  product.desc = *desc;
  product.layouts = {*a_layout, *b_layout, *c_layout, *d_layout};
  product.matrices = {a, b, c, d};
  product.workspace = workspace;
  return emulated::answer(
      emulated::queue_product(product, alpha, beta, algo, workspace_bytes, stream));
}
