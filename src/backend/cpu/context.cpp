#include "backend/context.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "backend/cpu/libraries.h"
#include "base/error.h"
#include "base/threads.h"

namespace saddle::backend {
namespace {

constexpr int64_t kAlignmentBytes = 64;
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
  const int64_t rounded = (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
  void* address = std::aligned_alloc(kAlignmentBytes, rounded);
  if (address != nullptr) std::memset(address, 0, rounded);
  return address;
}

}  // namespace

Memory::Memory(std::shared_ptr<MemoryStatistics> statistics, int64_t bytes)
    : statistics_(std::move(statistics)), bytes_(bytes) {
  if (bytes < 0) fail(ErrorKind::kInternal, "a memory block of {} bytes was requested", bytes);
  if (bytes == 0) return;
  address_ = bytes >= kMappedBytes ? map_memory(bytes) : small_memory(bytes);
  if (address_ == nullptr) {
    fail(ErrorKind::kDevice, "not enough memory: {} bytes were requested, {} are already in use",
         bytes, statistics_->bytes_now);
  }
  statistics_->bytes_now += bytes;
  statistics_->bytes_peak = std::max(statistics_->bytes_peak, statistics_->bytes_now);
  ++statistics_->allocations;
}

Memory::Memory(Memory&& other) noexcept
    : statistics_(std::move(other.statistics_)),
      address_(std::exchange(other.address_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(statistics_, other.statistics_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Memory::~Memory() {
  if (address_ == nullptr) return;
  if (bytes_ >= kMappedBytes) {
    munmap(address_, bytes_);
  } else {
    std::free(address_);
  }
  statistics_->bytes_now -= bytes_;
}

Workspace::Workspace(std::shared_ptr<MemoryStatistics> statistics)
    : statistics_(std::move(statistics)) {}

void Workspace::reserve(int64_t bytes) {
  if (depth_ != 0) fail(ErrorKind::kInternal, "scratch memory is reserved while it is in use");
  if (blocks_.size() == 1 && blocks_[0].bytes() >= bytes) return;
  blocks_.clear();
  blocks_.emplace_back(statistics_, bytes);
}

void* Workspace::take(int64_t bytes) {
  const int64_t rounded = (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
  while (block_ < blocks_.size() && used_ + rounded > blocks_[block_].bytes()) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) blocks_.emplace_back(statistics_, std::max(rounded, int64_t{64}));
  void* address = static_cast<char*>(blocks_[block_].get()) + used_;
  used_ += rounded;
  return address;
}

Workspace::Scope::Scope(Workspace& workspace) : workspace_(workspace) {
  if (workspace.depth_ == 0) workspace.join_blocks();
  block_ = workspace.block_;
  used_ = workspace.used_;
  ++workspace_.depth_;
}

Workspace::Scope::~Scope() {
  workspace_.block_ = block_;
  workspace_.used_ = used_;
  --workspace_.depth_;
}

void Workspace::join_blocks() {
  if (blocks_.size() < 2) return;
  int64_t total = 0;
  for (const Memory& block : blocks_) total += block.bytes();
  blocks_.clear();
  blocks_.emplace_back(statistics_, total);
}

Context::Context(int threads)
    : threads_(threads),
      statistics_(std::make_shared<MemoryStatistics>()),
      workspace_(statistics_) {
  if (threads < 1) fail(ErrorKind::kInternal, "a context of {} threads was requested", threads);
  check_threads_start(threads);
  threads_ = cpu::prepare_libraries(threads);
}

}  // namespace saddle::backend
