// CUDA's functions for memory: allocating, copying, filling.
#include <cstdlib>
#include <cstring>
#include <new>

#include "cuda_runtime.h"
#include "runtime/device.h"

namespace emulated {
namespace {

constexpr size_t kPinnedAlignment = 4096;

// One operand of a copy: `rows` rows of `width` bytes, `pitch` bytes apart.
struct Operand {
  const void* pointer;
  size_t pitch;
  size_t width;
  size_t rows;
  bool on_device;
  bool pinned = false;

  size_t extent() const { return rows == 0 || width == 0 ? 0 : (rows - 1) * pitch + width; }
};

// The allocation of pinned memory that holds the whole operand, or null.
const std::pair<const void* const, size_t>* find_pinned(const Device& self,
                                                        const Operand& operand) {
  auto after = self.pinned.upper_bound(operand.pointer);
  if (after == self.pinned.begin()) return nullptr;
  const auto& found = *std::prev(after);
  const auto* begin = static_cast<const char*>(found.first);
  const auto* at = static_cast<const char*>(operand.pointer);
  return at + operand.extent() <= begin + found.second ? &found : nullptr;
}

// Also when the copy runs: the memory may have been freed since.
Status check_operand(const Device& self, const Operand& operand, const char* role) {
  if (operand.on_device) {
    const std::string outside = self.memory.why_outside(operand.pointer, operand.extent());
    if (outside.empty()) return {};
    return refuse(cudaErrorInvalidValue, "the {} of a copy is no device memory: {}", role, outside);
  }
  if (self.memory.owns(operand.pointer)) {
    return refuse(cudaErrorInvalidMemcpyDirection, "the {} of a copy is no host memory: it is {}",
                  role, self.memory.describe(operand.pointer));
  }
  if (operand.pinned && find_pinned(self, operand) == nullptr) {
    return refuse(cudaErrorIllegalAddress,
                  "the pinned memory that is the {} of a queued copy was freed before it ran",
                  role);
  }
  return {};
}

Status infer_sides(const Device& self, const void* to, const void* from, cudaMemcpyKind kind,
                   bool* to_device, bool* from_device) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      break;
    case cudaMemcpyHostToDevice:
      *to_device = true;
      break;
    case cudaMemcpyDeviceToHost:
      *from_device = true;
      break;
    case cudaMemcpyDeviceToDevice:
      *to_device = *from_device = true;
      break;
    case cudaMemcpyDefault:
      *to_device = self.memory.owns(to);
      *from_device = self.memory.owns(from);
      break;
    default:
      return refuse(cudaErrorInvalidMemcpyDirection, "{} is no direction of a copy",
                    static_cast<int>(kind));
  }
  return {};
}

Status queue_copy(Device& self, void* to, size_t to_pitch, const void* from, size_t from_pitch,
                  size_t width, size_t rows, cudaMemcpyKind kind, cudaStream_t stream) {
  CUstream_st* found = nullptr;
  Status status = self.find(stream, &found);
  Operand target{to, to_pitch, width, rows, false};
  Operand source{from, from_pitch, width, rows, false};
  if (status.ok()) status = infer_sides(self, to, from, kind, &target.on_device, &source.on_device);
  if (!status.ok() || width == 0 || rows == 0) return status;
  status = check_operand(self, target, "target");
  if (status.ok()) status = check_operand(self, source, "source");
  if (!status.ok()) return status;
  target.pinned = !target.on_device && find_pinned(self, target) != nullptr;
  source.pinned = !source.on_device && find_pinned(self, source) != nullptr;
  for (const Operand& operand : {target, source}) {
    if (found->capturing && !operand.on_device && !operand.pinned) {
      found->capture_broken = true;
      return refuse(cudaErrorStreamCaptureUnsupported,
                    "a copy of pageable host memory was captured: a graph may run when it is gone");
    }
  }
  Counters counts{.copies = 1};
  const auto bytes = static_cast<int64_t>(width * rows);
  if (target.on_device)
    (source.on_device ? counts.bytes_on_device : counts.bytes_to_device) = bytes;
  if (!target.on_device && source.on_device) counts.bytes_to_host = bytes;
  auto run = [&self, to, target, source]() -> Status {
    Status checked = check_operand(self, target, "target");
    if (checked.ok()) checked = check_operand(self, source, "source");
    if (!checked.ok()) return checked;
    for (size_t row = 0; row < target.rows; ++row) {
      std::memmove(static_cast<char*>(to) + row * target.pitch,
                   static_cast<const char*>(source.pointer) + row * source.pitch, target.width);
    }
    return {};
  };
  return self.queue(stream, {std::move(run), counts});
}

}  // namespace
}  // namespace emulated

using emulated::device;
using emulated::Device;
using emulated::refuse;
using emulated::Status;

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return device().call_outside_capture("cudaMalloc", [&](Device& self) -> Status {
    *pointer = nullptr;
    if (bytes == 0) return {};
    *pointer = self.memory.allocate(bytes);
    if (*pointer == nullptr) {
      return refuse(cudaErrorMemoryAllocation,
                    "out of device memory: {} bytes asked for, {} of {} in use", bytes,
                    self.memory.used(), self.memory.limit());
    }
    ++self.counters.allocations;
    self.counters.bytes_allocated += static_cast<int64_t>(bytes);
    return {};
  });
}

// Waits for the device, like CUDA's. Memory is also given back after a failure.
cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  const cudaError_t finished = device().call_outside_capture("cudaFree", [&](Device& self) {
    ++self.counters.host_synchronizations;
    return self.finish_all();
  });
  const std::lock_guard lock(device().mutex);
  if (finished == cudaErrorStreamCaptureUnsupported || device().memory.free(pointer)) {
    return finished;
  }
  return device().call([&](Device& self) {
    return refuse(cudaErrorInvalidValue, "cudaFree of what cudaMalloc did not return: {}",
                  self.memory.describe(pointer));
  });
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  return device().call_outside_capture("cudaHostAlloc", [&](Device& self) -> Status {
    *pointer = nullptr;
    if (bytes == 0) return {};
    *pointer = ::operator new (bytes, std::align_val_t{emulated::kPinnedAlignment}, std::nothrow);
    if (*pointer == nullptr) {
      return refuse(cudaErrorMemoryAllocation, "no {} bytes of pinned memory", bytes);
    }
    std::memset(*pointer, 0xff, bytes);
    self.pinned[*pointer] = bytes;
    return {};
  });
}

// Does not wait for the device: a queued copy that still needs the memory fails when it runs.
cudaError_t cudaFreeHost(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  const std::lock_guard lock(device().mutex);
  if (device().pinned.erase(pointer) == 1) {
    ::operator delete (pointer, std::align_val_t{emulated::kPinnedAlignment});
    return device().failure.code;
  }
  return device().call([](Device&) {
    return refuse(cudaErrorInvalidValue, "cudaFreeHost of what cudaHostAlloc did not return");
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return device().call([&](Device& self) -> Status {
    *total = self.memory.limit();
    *free = self.memory.limit() - std::min(self.memory.used(), self.memory.limit());
    return {};
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return device().call([&](Device& self) {
    return emulated::queue_copy(self, to, bytes, from, bytes, bytes, 1, kind, stream);
  });
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return device().call([&](Device& self) -> Status {
    if (to_pitch < width || from_pitch < width) {
      return refuse(cudaErrorInvalidPitchValue, "rows of {} bytes, {} and {} bytes apart", width,
                    to_pitch, from_pitch);
    }
    return emulated::queue_copy(self, to, to_pitch, from, from_pitch, width, height, kind, stream);
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return device().call_outside_capture("cudaMemcpy", [&](Device& self) {
    Status status =
        emulated::queue_copy(self, to, bytes, from, bytes, bytes, 1, kind, cudaStream_t{});
    if (!status.ok()) return status;
    ++self.counters.host_synchronizations;
    return self.finish(cudaStream_t{});
  });
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  return device().call([&](Device& self) -> Status {
    if (bytes == 0) return {};
    const auto check = [&self, pointer, bytes]() -> Status {
      const std::string outside = self.memory.why_outside(pointer, bytes);
      if (outside.empty()) return {};
      return refuse(cudaErrorInvalidValue, "the target of a fill is no device memory: {}", outside);
    };
    Status status = check();
    if (!status.ok()) return status;
    auto run = [check, pointer, value, bytes]() -> Status {
      Status checked = check();
      if (checked.ok()) std::memset(pointer, value, bytes);
      return checked;
    };
    return self.queue(stream,
                      {std::move(run), {.copies = 1, .bytes_filled = static_cast<int64_t>(bytes)}});
  });
}
