#include "backend/cuda/cuda_device.h"

#include <cstring>
#include <utility>

#include "backend/cuda/check.h"

namespace saddle::backend::cuda {
namespace {

constexpr int64_t kStagingBytes = int64_t{16} << 20;

}  // namespace

CudaDevice::CudaDevice(int index, KernelTable kernels)
    : index_(index), kernels_(std::move(kernels)) {
  check(cudaSetDevice(index), "the choice of the device");
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
  check(cudaHostAlloc(&staging_, kStagingBytes, cudaHostAllocDefault), "pinned memory");
  products_.emplace(stream_);
}

CudaDevice::~CudaDevice() {
  cudaStreamSynchronize(stream_);
  for (const auto& [bytes, address] : released_) cudaFree(address);
  products_.reset();
  cudaFreeHost(staging_);
  cudaStreamDestroy(stream_);
}

std::string CudaDevice::name() const {
  return fmt::format("cuda:{}", index_);
}

void* CudaDevice::allocate(int64_t bytes) {
  void* address = nullptr;
  const auto again = released_.find(bytes);
  if (again != released_.end()) {
    address = again->second;
    released_.erase(again);
  } else {
    cudaError_t status = cudaMalloc(&address, static_cast<size_t>(bytes));
    if (status == cudaErrorMemoryAllocation && !released_.empty()) {
      cudaGetLastError();  // so that the next call is not blamed
      free_released();
      status = cudaMalloc(&address, static_cast<size_t>(bytes));
    }
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return nullptr;
    }
    check(status, "a request for memory");
  }
  check(cudaMemsetAsync(address, 0, static_cast<size_t>(bytes), stream_), "clearing memory");
  return address;
}

void CudaDevice::release(void* address, int64_t bytes) noexcept {
  released_.emplace(bytes, address);
}

void CudaDevice::free_released() {
  wait();
  for (const auto& [bytes, address] : released_) check(cudaFree(address), "freeing memory");
  released_.clear();
}

void CudaDevice::wait() {
  check(cudaStreamSynchronize(stream_), "waiting for the device");
  staged_ = 0;
}

char* CudaDevice::stage(int64_t bytes) {
  if (staged_ + bytes > kStagingBytes) wait();
  char* const at = staging_ + staged_;
  staged_ += aligned_bytes(bytes);
  return at;
}

void CudaDevice::copy_to_host(void* host, const void* device, int64_t rows, int64_t bytes,
                              int64_t stride) {
  const auto width = static_cast<size_t>(bytes);
  check(cudaMemcpy2DAsync(host, width, device, static_cast<size_t>(rows == 1 ? bytes : stride),
                          width, static_cast<size_t>(rows), cudaMemcpyDeviceToHost, stream_),
        "a copy to the host");
  wait();
}

void CudaDevice::copy_to_device(void* device, const void* host, int64_t rows, int64_t bytes,
                                int64_t stride) {
  const auto width = static_cast<size_t>(bytes);
  const bool staged = rows * bytes <= kStagingBytes;
  const void* from = host;
  if (staged) {
    char* const pinned = stage(rows * bytes);
    std::memcpy(pinned, host, static_cast<size_t>(rows * bytes));
    from = pinned;
  }
  check(cudaMemcpy2DAsync(device, static_cast<size_t>(rows == 1 ? bytes : stride), from, width,
                          width, static_cast<size_t>(rows), cudaMemcpyHostToDevice, stream_),
        "a copy to the device");
  if (!staged) wait();
}

void CudaDevice::launch(const Rows& rows, const RowBody& body) {
  const KernelTable::Start start = kernels_.find(body.type);
  if (start == nullptr) {
    fail(ErrorKind::kInternal, "there is no CUDA kernel for {} ({})", rows.name, body.type.name());
  }
  start(rows, body.data, stream_);
  check(cudaGetLastError(), rows.name);
}

void CudaDevice::multiply(const GemmCall<float>& call) {
  products_->multiply(call);
}

void CudaDevice::multiply(const GemmCall<double>& call) {
  products_->multiply(call);
}

void CudaDevice::multiply(const GemmCall<num::Bf16>& call) {
  products_->multiply(call);
}

void CudaDevice::multiply(const GemmCall<num::Bf16, float>& call) {
  products_->multiply(call);
}

}  // namespace saddle::backend::cuda
