// CUDA's functions for errors, the device and its properties, and launches.
#include <cstring>

#include "cuda_runtime.h"
#include "runtime/block.h"
#include "runtime/device.h"
#include "runtime/kernel_name.h"
#include "runtime/shared_memory.h"

namespace emulated {
namespace {

constexpr int kProcessors = 8;  // few: grids that fill the device stay small
constexpr int kCacheBytes = 32 << 20;

const char* error_name(cudaError_t error) {
#define SADDLE_ERROR_NAME(name) \
  case name:                    \
    return #name;
  switch (error) {
    SADDLE_ERROR_NAME(cudaSuccess)
    SADDLE_ERROR_NAME(cudaErrorInvalidValue)
    SADDLE_ERROR_NAME(cudaErrorMemoryAllocation)
    SADDLE_ERROR_NAME(cudaErrorInitializationError)
    SADDLE_ERROR_NAME(cudaErrorInvalidConfiguration)
    SADDLE_ERROR_NAME(cudaErrorInvalidPitchValue)
    SADDLE_ERROR_NAME(cudaErrorInvalidMemcpyDirection)
    SADDLE_ERROR_NAME(cudaErrorInsufficientDriver)
    SADDLE_ERROR_NAME(cudaErrorNoDevice)
    SADDLE_ERROR_NAME(cudaErrorInvalidDevice)
    SADDLE_ERROR_NAME(cudaErrorInvalidResourceHandle)
    SADDLE_ERROR_NAME(cudaErrorNotReady)
    SADDLE_ERROR_NAME(cudaErrorIllegalAddress)
    SADDLE_ERROR_NAME(cudaErrorMisalignedAddress)
    SADDLE_ERROR_NAME(cudaErrorLaunchFailure)
    SADDLE_ERROR_NAME(cudaErrorNotSupported)
    SADDLE_ERROR_NAME(cudaErrorStreamCaptureUnsupported)
    SADDLE_ERROR_NAME(cudaErrorStreamCaptureInvalidated)
    SADDLE_ERROR_NAME(cudaErrorStreamCaptureUnmatched)
    SADDLE_ERROR_NAME(cudaErrorStreamCaptureImplicit)
    SADDLE_ERROR_NAME(cudaErrorUnknown)
  }
#undef SADDLE_ERROR_NAME
  return "unrecognized error code";
}

// Empty if the geometry is one that CUDA takes.
std::string wrong_geometry(const dim3& grid, const dim3& block, size_t shared, size_t limit) {
  const auto text = [](const dim3& d) { return fmt::format("({}, {}, {})", d.x, d.y, d.z); };
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > kThreadsPerBlock || block.z > 64) {
    return fmt::format("a block of {} threads", text(block));
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu || grid.y > 65535 ||
      grid.z > 65535) {
    return fmt::format("a grid of {} blocks", text(grid));
  }
  if (shared > limit) {
    return fmt::format("{} bytes of shared memory, {} are allowed", shared, limit);
  }
  return {};
}

int attribute_value(cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return kThreadsPerBlock;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return kSharedBytesUnasked;
    case cudaDevAttrWarpSize:
      return 32;
    case cudaDevAttrMultiProcessorCount:
      return kProcessors;
    case cudaDevAttrL2CacheSize:
      return kCacheBytes;
    case cudaDevAttrComputeCapabilityMajor:
      return 8;
    case cudaDevAttrComputeCapabilityMinor:
      return 0;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return kSharedBytes;
  }
  return -1;
}

Status check_device(int number) {
  if (number == 0) return {};
  return refuse(cudaErrorInvalidDevice, "device {} does not exist, 0 is the only one", number);
}

}  // namespace

void queue_launch(const void* kernel, dim3 grid, dim3 block, size_t shared_bytes,
                  cudaStream_t stream, std::function<void()> body) {
  device().call([&](Device& self) -> Status {
    // Static arrays count too, so the limit holds for both together.
    const auto asked = self.dynamic_shared.find(kernel);
    const size_t limit = asked == self.dynamic_shared.end() ? kSharedBytesUnasked : kSharedBytes;
    const size_t dynamic_limit = asked == self.dynamic_shared.end()
                                     ? kSharedBytesUnasked
                                     : static_cast<size_t>(asked->second);
    const std::string wrong = wrong_geometry(grid, block, shared_bytes, dynamic_limit);
    if (!wrong.empty()) {
      return refuse(cudaErrorInvalidConfiguration, "kernel {}: {}", kernel_name(kernel), wrong);
    }
    const auto launch = std::make_shared<const Launch>(
        Launch{kernel, grid, block, shared_bytes, limit, std::move(body)});
    return self.queue(stream, {[&self, launch] { return run_grid(*launch, self.order); },
                               {.kernel_launches = 1}});
  });
}

}  // namespace emulated

using emulated::device;
using emulated::Device;
using emulated::Status;

cudaError_t cudaGetLastError() {
  const std::lock_guard lock(device().mutex);
  const cudaError_t error = device().last_error;
  device().last_error = device().failure.code;  // a failure of the device stays
  return error;
}

cudaError_t cudaPeekAtLastError() {
  const std::lock_guard lock(device().mutex);
  return device().last_error;
}

const char* cudaGetErrorName(cudaError_t error) {
  return emulated::error_name(error);
}

// The reason that is known, if this was the code of the last failure.
const char* cudaGetErrorString(cudaError_t error) {
  const std::lock_guard lock(device().mutex);
  const bool known = error != cudaSuccess && error == device().why_code;
  return known && !device().why.empty() ? device().why.c_str() : emulated::error_name(error);
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int number) {
  return device().call([&](Device&) { return emulated::check_device(number); });
}

cudaError_t cudaGetDevice(int* number) {
  *number = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int number) {
  return device().call([&](Device&) {
    Status status = emulated::check_device(number);
    if (!status.ok()) return status;
    *value = emulated::attribute_value(attribute);
    if (*value >= 0) return Status{};
    return emulated::refuse(cudaErrorInvalidValue, "unknown attribute {}",
                            static_cast<int>(attribute));
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int number) {
  return device().call([&](Device& self) {
    Status status = emulated::check_device(number);
    if (!status.ok()) return status;
    *properties = {};
    std::strcpy(properties->name, "emulated");
    properties->totalGlobalMem = self.memory.limit();
    properties->sharedMemPerBlock = emulated::kSharedBytesUnasked;
    properties->sharedMemPerBlockOptin = emulated::kSharedBytes;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = emulated::kThreadsPerBlock;
    properties->multiProcessorCount = emulated::kProcessors;
    properties->l2CacheSize = emulated::kCacheBytes;
    properties->major = 8;
    properties->minor = 0;
    return Status{};
  });
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  return device().call([&](Device& self) -> Status {
    const bool fits = value >= 0 && static_cast<size_t>(value) <= emulated::kSharedBytes;
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || !fits) {
      return emulated::refuse(cudaErrorInvalidValue, "attribute {} of a kernel cannot be {}",
                              static_cast<int>(attribute), value);
    }
    self.dynamic_shared[kernel] = value;
    return {};
  });
}
