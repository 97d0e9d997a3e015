#include "backend/cpu/processor.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "backend/cpu/libraries.h"
#include "base/error.h"
#include "base/threads.h"

namespace saddle::backend::cpu {
namespace {

// Blocks of at least this size are mapped from the system in separate pages, large ones if
// possible.
constexpr int64_t kMappedBytes = int64_t{4} << 20;

void* map_memory(int64_t bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  madvise(address, bytes, MADV_HUGEPAGE);
  return address;
}

void* small_memory(int64_t bytes) {
  const int64_t rounded = aligned_bytes(bytes);
  void* address = std::aligned_alloc(kMemoryAlignment, rounded);
  if (address != nullptr) std::memset(address, 0, rounded);
  return address;
}

// Loops and products of the processor are called directly (ops/rows.h, backend/gemm.h).
[[noreturn]] void not_called() {
  fail(ErrorKind::kInternal, "the processor was addressed as another device");
}

}  // namespace

Processor::Processor(int threads) : threads_(threads) {
  if (threads < 1) fail(ErrorKind::kInternal, "a context of {} threads was requested", threads);
  check_threads_start(threads);
  threads_ = prepare_libraries(threads);
}

void* Processor::allocate(int64_t bytes) {
  return bytes >= kMappedBytes ? map_memory(bytes) : small_memory(bytes);
}

void Processor::release(void* address, int64_t bytes) noexcept {
  if (bytes >= kMappedBytes) {
    munmap(address, bytes);
  } else {
    std::free(address);
  }
}

void Processor::copy_to_host(void* host, const void* device, int64_t rows, int64_t bytes,
                             int64_t stride) {
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(static_cast<char*>(host) + row * bytes,
                static_cast<const char*>(device) + row * stride, bytes);
  }
}

void Processor::copy_to_device(void* device, const void* host, int64_t rows, int64_t bytes,
                               int64_t stride) {
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(static_cast<char*>(device) + row * stride,
                static_cast<const char*>(host) + row * bytes, bytes);
  }
}

void Processor::launch(const Rows&, const RowBody&) {
  not_called();
}

void Processor::multiply(const GemmCall<float>&) {
  not_called();
}

void Processor::multiply(const GemmCall<double>&) {
  not_called();
}

void Processor::multiply(const GemmCall<num::Bf16>&) {
  not_called();
}

void Processor::multiply(const GemmCall<num::Bf16, float>&) {
  not_called();
}

}  // namespace saddle::backend::cpu
