// What a device offers to the operations: memory, copies, products and loops over rows. The
// processor (backend/cpu) is one; its loops are the templates of ops/rows.h, which call the same
// row bodies that the kernels of other devices call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <typeindex>

#include "backend/gemm_call.h"

namespace saddle::backend {

// Every block of device memory begins at a multiple of this.
inline constexpr int64_t kMemoryAlignment = 64;

// The next multiple of it.
constexpr int64_t aligned_bytes(int64_t bytes) {
  return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

// Device memory in use; shared by a context and the memory allocated through it.
struct MemoryStatistics {
  int64_t bytes_now = 0;
  int64_t bytes_peak = 0;
  int64_t allocations = 0;  // ever made
};

// The work requested from a device since its context was made; the same on every device.
struct DeviceCounters {
  int64_t launches = 0;         // loops over rows
  int64_t kernel_bytes = 0;     // that these declare to read and write
  int64_t products = 0;         // calls of the product library, one for a batch and a plane
  int64_t host_reads = 0;       // copies to the host, for which the host waits
  int64_t bytes_to_host = 0;    // copied
  int64_t bytes_to_device = 0;  // copied

  DeviceCounters& operator+=(const DeviceCounters& other) {
    launches += other.launches;
    kernel_bytes += other.kernel_bytes;
    products += other.products;
    host_reads += other.host_reads;
    bytes_to_host += other.bytes_to_host;
    bytes_to_device += other.bytes_to_device;
    return *this;
  }
  DeviceCounters operator-(const DeviceCounters& before) const {
    return {launches - before.launches,           kernel_bytes - before.kernel_bytes,
            products - before.products,           host_reads - before.host_reads,
            bytes_to_host - before.bytes_to_host, bytes_to_device - before.bytes_to_device};
  }
};

// A loop over the rows of all workers.
struct Rows {
  const char* name = "";  // of the operation, for messages and profiles
  int64_t workers = 0;
  int64_t rows = 0;   // of each worker
  int64_t width = 0;  // numbers in a row, which lanes share
  int64_t bytes = 0;  // that the body reads and writes for each row
};

// A row body (ops/rows.h) without its type: what a device needs to find and start its kernel.
struct RowBody {
  std::type_index type;
  const void* data;  // trivially copyable; read during the call only
  size_t size;
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  // "cpu", for records.
  virtual std::string name() const = 0;

  // Whether its memory is that of the host, and its loops run on threads of the host. launch() and
  // multiply() are then never called.
  virtual bool is_host() const = 0;

  // Memory filled with zero bytes; null if there is not enough. bytes > 0.
  virtual void* allocate(int64_t bytes) = 0;
  virtual void release(void* address, int64_t bytes) noexcept = 0;

  // Copies `rows` rows of `bytes` bytes each, `stride` bytes apart on the device and consecutive on
  // the host. After copy_to_host(), everything requested before is done; after copy_to_device(),
  // the host memory may be reused.
  virtual void copy_to_host(void* host, const void* device, int64_t rows, int64_t bytes,
                            int64_t stride) = 0;
  virtual void copy_to_device(void* device, const void* host, int64_t rows, int64_t bytes,
                              int64_t stride) = 0;

  // Runs the body for every row. Errors: kInternal for a body without a kernel.
  virtual void launch(const Rows& rows, const RowBody& body) = 0;

  virtual void multiply(const GemmCall<float>& call) = 0;
  virtual void multiply(const GemmCall<double>& call) = 0;
  virtual void multiply(const GemmCall<num::Bf16>& call) = 0;
  virtual void multiply(const GemmCall<num::Bf16, float>& call) = 0;

  MemoryStatistics& memory() { return memory_; }

 private:
  MemoryStatistics memory_;
};

}  // namespace saddle::backend
