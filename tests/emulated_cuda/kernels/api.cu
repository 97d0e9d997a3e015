// Compiled by nvcc against CUDA's headers and by g++ against the emulated ones: the values and
// signatures that saddle relies on are the same in both.
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <type_traits>

namespace saddle {
namespace {

static_assert(cudaSuccess == 0);
static_assert(cudaErrorInvalidValue == 1);
static_assert(cudaErrorMemoryAllocation == 2);
static_assert(cudaErrorInitializationError == 3);
static_assert(cudaErrorInvalidConfiguration == 9);
static_assert(cudaErrorInvalidPitchValue == 12);
static_assert(cudaErrorInvalidMemcpyDirection == 21);
static_assert(cudaErrorInsufficientDriver == 35);
static_assert(cudaErrorNoDevice == 100);
static_assert(cudaErrorInvalidDevice == 101);
static_assert(cudaErrorInvalidResourceHandle == 400);
static_assert(cudaErrorNotReady == 600);
static_assert(cudaErrorIllegalAddress == 700);
static_assert(cudaErrorMisalignedAddress == 716);
static_assert(cudaErrorLaunchFailure == 719);
static_assert(cudaErrorNotSupported == 801);
static_assert(cudaErrorStreamCaptureUnsupported == 900);
static_assert(cudaErrorStreamCaptureInvalidated == 901);
static_assert(cudaErrorStreamCaptureUnmatched == 903);
static_assert(cudaErrorStreamCaptureImplicit == 906);
static_assert(cudaErrorUnknown == 999);

static_assert(cudaMemcpyHostToHost == 0 && cudaMemcpyHostToDevice == 1);
static_assert(cudaMemcpyDeviceToHost == 2 && cudaMemcpyDeviceToDevice == 3);
static_assert(cudaMemcpyDefault == 4);
static_assert(cudaStreamCaptureModeGlobal == 0 && cudaStreamCaptureModeThreadLocal == 1);
static_assert(cudaStreamCaptureModeRelaxed == 2);
static_assert(cudaStreamCaptureStatusNone == 0 && cudaStreamCaptureStatusActive == 1);
static_assert(cudaStreamCaptureStatusInvalidated == 2);
static_assert(cudaStreamDefault == 0 && cudaStreamNonBlocking == 1);
static_assert(cudaEventDefault == 0 && cudaEventBlockingSync == 1 && cudaEventDisableTiming == 2);
static_assert(cudaHostAllocDefault == 0 && cudaHostAllocPortable == 1);
static_assert(cudaDevAttrMaxThreadsPerBlock == 1 && cudaDevAttrMaxSharedMemoryPerBlock == 8);
static_assert(cudaDevAttrWarpSize == 10 && cudaDevAttrMultiProcessorCount == 16);
static_assert(cudaDevAttrL2CacheSize == 38);
static_assert(cudaDevAttrComputeCapabilityMajor == 75 && cudaDevAttrComputeCapabilityMinor == 76);
static_assert(cudaDevAttrMaxSharedMemoryPerBlockOptin == 97);
static_assert(cudaFuncAttributeMaxDynamicSharedMemorySize == 8);

static_assert(CUDA_R_32F == 0 && CUDA_R_64F == 1 && CUDA_R_16F == 2 && CUDA_R_16BF == 14);
static_assert(CUBLAS_STATUS_SUCCESS == 0 && CUBLAS_STATUS_NOT_INITIALIZED == 1);
static_assert(CUBLAS_STATUS_ALLOC_FAILED == 3 && CUBLAS_STATUS_INVALID_VALUE == 7);
static_assert(CUBLAS_STATUS_ARCH_MISMATCH == 8 && CUBLAS_STATUS_EXECUTION_FAILED == 13);
static_assert(CUBLAS_STATUS_INTERNAL_ERROR == 14 && CUBLAS_STATUS_NOT_SUPPORTED == 15);
static_assert(CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1 && CUBLAS_OP_C == 2);
static_assert(CUBLAS_COMPUTE_32F == 68 && CUBLAS_COMPUTE_32F_PEDANTIC == 69);
static_assert(CUBLAS_COMPUTE_64F == 70 && CUBLAS_COMPUTE_64F_PEDANTIC == 71);
static_assert(CUBLAS_COMPUTE_32F_FAST_TF32 == 77);
static_assert(CUBLASLT_ORDER_COL == 0 && CUBLASLT_ORDER_ROW == 1);
static_assert(CUBLASLT_BATCH_MODE_STRIDED == 0 && CUBLASLT_BATCH_MODE_POINTER_ARRAY == 1);
static_assert(CUBLASLT_POINTER_MODE_HOST == 0 && CUBLASLT_POINTER_MODE_DEVICE == 1);
static_assert(CUBLASLT_EPILOGUE_DEFAULT == 1);
static_assert(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE == 0 && CUBLASLT_MATMUL_DESC_SCALE_TYPE == 1);
static_assert(CUBLASLT_MATMUL_DESC_POINTER_MODE == 2 && CUBLASLT_MATMUL_DESC_TRANSA == 3);
static_assert(CUBLASLT_MATMUL_DESC_TRANSB == 4 && CUBLASLT_MATMUL_DESC_EPILOGUE == 7);
static_assert(CUBLASLT_MATRIX_LAYOUT_TYPE == 0 && CUBLASLT_MATRIX_LAYOUT_ORDER == 1);
static_assert(CUBLASLT_MATRIX_LAYOUT_ROWS == 2 && CUBLASLT_MATRIX_LAYOUT_COLS == 3);
static_assert(CUBLASLT_MATRIX_LAYOUT_LD == 4 && CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT == 5);
static_assert(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET == 6);
static_assert(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE == 8);
static_assert(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES == 1);
static_assert(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK == 3);
static_assert(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES == 5);
static_assert(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES == 6);
static_assert(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES == 7);
static_assert(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES == 8);

static_assert(sizeof(cublasLtMatmulAlgo_t) == 64);
static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == 96);
static_assert(sizeof(int2) == 8 && alignof(int2) == 8 && sizeof(int4) == 16 && alignof(int4) == 16);
static_assert(sizeof(uint2) == 8 && alignof(uint4) == 16 && alignof(double2) == 16);
static_assert(sizeof(float2) == 8 && alignof(float2) == 8 && alignof(float4) == 16);

// Picks the overload with exactly this type.
template <class Signature>
void expect(Signature*) {}

}  // namespace

// Never called.
void check_signatures() {
  using E = cudaError_t;
  using Stream = cudaStream_t;
  using Event = cudaEvent_t;
  expect<E()>(&cudaGetLastError);
  expect<E()>(&cudaPeekAtLastError);
  expect<const char*(E)>(&cudaGetErrorName);
  expect<const char*(E)>(&cudaGetErrorString);
  expect<E(int*)>(&cudaRuntimeGetVersion);
  expect<E(int*)>(&cudaDriverGetVersion);
  expect<E(int*)>(&cudaGetDeviceCount);
  expect<E(int)>(&cudaSetDevice);
  expect<E(int*)>(&cudaGetDevice);
  expect<E(cudaDeviceProp*, int)>(&cudaGetDeviceProperties);
  expect<E(int*, cudaDeviceAttr, int)>(&cudaDeviceGetAttribute);
  expect<E()>(&cudaDeviceSynchronize);
  expect<E(void**, size_t)>(&cudaMalloc);
  expect<E(void*)>(&cudaFree);
  expect<E(void**, size_t, unsigned)>(&cudaHostAlloc);
  expect<E(void*)>(&cudaFreeHost);
  expect<E(size_t*, size_t*)>(&cudaMemGetInfo);
  expect<E(void*, const void*, size_t, cudaMemcpyKind)>(&cudaMemcpy);
  expect<E(void*, const void*, size_t, cudaMemcpyKind, Stream)>(&cudaMemcpyAsync);
  expect<E(void*, size_t, const void*, size_t, size_t, size_t, cudaMemcpyKind, Stream)>(
      &cudaMemcpy2DAsync);
  expect<E(void*, int, size_t, Stream)>(&cudaMemsetAsync);
  expect<E(Stream*)>(&cudaStreamCreate);
  expect<E(Stream*, unsigned)>(&cudaStreamCreateWithFlags);
  expect<E(Stream)>(&cudaStreamDestroy);
  expect<E(Stream)>(&cudaStreamSynchronize);
  expect<E(Stream)>(&cudaStreamQuery);
  expect<E(Stream, Event, unsigned)>(&cudaStreamWaitEvent);
  expect<E(Event*)>(&cudaEventCreate);
  expect<E(Event*, unsigned)>(&cudaEventCreateWithFlags);
  expect<E(Event)>(&cudaEventDestroy);
  expect<E(Event, Stream)>(&cudaEventRecord);
  expect<E(Event)>(&cudaEventSynchronize);
  expect<E(Event)>(&cudaEventQuery);
  expect<E(float*, Event, Event)>(&cudaEventElapsedTime);
  expect<E(Stream, cudaStreamCaptureMode)>(&cudaStreamBeginCapture);
  expect<E(Stream, cudaGraph_t*)>(&cudaStreamEndCapture);
  expect<E(Stream, cudaStreamCaptureStatus*)>(&cudaStreamIsCapturing);
  expect<E(cudaGraphExec_t*, cudaGraph_t, unsigned long long)>(&cudaGraphInstantiate);
  expect<E(cudaGraphExec_t, Stream)>(&cudaGraphLaunch);
  expect<E(cudaGraph_t)>(&cudaGraphDestroy);
  expect<E(cudaGraphExec_t)>(&cudaGraphExecDestroy);
  expect<E(const void*, cudaFuncAttribute, int)>(&cudaFuncSetAttribute);

  using S = cublasStatus_t;
  using Desc = cublasLtMatmulDesc_t;
  using Layout = cublasLtMatrixLayout_t;
  using Preference = cublasLtMatmulPreference_t;
  expect<size_t()>(&cublasLtGetVersion);
  expect<const char*(S)>(&cublasLtGetStatusName);
  expect<const char*(S)>(&cublasLtGetStatusString);
  expect<S(cublasLtHandle_t*)>(&cublasLtCreate);
  expect<S(cublasLtHandle_t)>(&cublasLtDestroy);
  expect<S(Desc*, cublasComputeType_t, cudaDataType)>(&cublasLtMatmulDescCreate);
  expect<S(Desc)>(&cublasLtMatmulDescDestroy);
  expect<S(Desc, cublasLtMatmulDescAttributes_t, const void*, size_t)>(
      &cublasLtMatmulDescSetAttribute);
  expect<S(Layout*, cudaDataType, uint64_t, uint64_t, int64_t)>(&cublasLtMatrixLayoutCreate);
  expect<S(Layout)>(&cublasLtMatrixLayoutDestroy);
  expect<S(Layout, cublasLtMatrixLayoutAttribute_t, const void*, size_t)>(
      &cublasLtMatrixLayoutSetAttribute);
  expect<S(Preference*)>(&cublasLtMatmulPreferenceCreate);
  expect<S(Preference)>(&cublasLtMatmulPreferenceDestroy);
  expect<S(Preference, cublasLtMatmulPreferenceAttributes_t, const void*, size_t)>(
      &cublasLtMatmulPreferenceSetAttribute);
  expect<S(cublasLtHandle_t, Desc, Layout, Layout, Layout, Layout, Preference, int,
           cublasLtMatmulHeuristicResult_t*, int*)>(&cublasLtMatmulAlgoGetHeuristic);
  expect<S(cublasLtHandle_t, Desc, const void*, const void*, Layout, const void*, Layout,
           const void*, const void*, Layout, void*, Layout, const cublasLtMatmulAlgo_t*, void*,
           size_t, Stream)>(&cublasLtMatmul);
}

}  // namespace saddle
