#include <algorithm>
#include <utility>

#include "backend/context.h"
#include "base/error.h"

namespace saddle::backend {
namespace {

// Where scratch memory appears to be while it is only measured. Nothing is read or written there.
alignas(kMemoryAlignment) char measured_memory[kMemoryAlignment];

}  // namespace

Memory::Memory(std::shared_ptr<Device> device, int64_t bytes)
    : device_(std::move(device)), bytes_(bytes) {
  if (bytes < 0) fail(ErrorKind::kInternal, "a memory block of {} bytes was requested", bytes);
  if (bytes == 0) return;
  address_ = device_->allocate(bytes);
  MemoryStatistics& statistics = device_->memory();
  if (address_ == nullptr) {
    fail(ErrorKind::kDevice, "not enough memory: {} bytes were requested, {} are already in use",
         bytes, statistics.bytes_now);
  }
  statistics.bytes_now += bytes;
  statistics.bytes_peak = std::max(statistics.bytes_peak, statistics.bytes_now);
  ++statistics.allocations;
}

Memory::Memory(Memory&& other) noexcept
    : device_(std::move(other.device_)),
      address_(std::exchange(other.address_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Memory::~Memory() {
  if (address_ == nullptr) return;
  device_->release(address_, bytes_);
  device_->memory().bytes_now -= bytes_;
}

Workspace::Workspace(std::shared_ptr<Device> device) : device_(std::move(device)) {}

void Workspace::reserve(int64_t bytes) {
  if (depth_ != 0) fail(ErrorKind::kInternal, "scratch memory is reserved while it is in use");
  int64_t held = 0;
  for (const Memory& block : blocks_) held += block.bytes();
  if (blocks_.size() < 2 && held >= bytes) return;
  blocks_.clear();
  blocks_.emplace_back(device_, std::max(bytes, held));
}

void Workspace::set_measuring(bool measuring) {
  if (depth_ != 0) fail(ErrorKind::kInternal, "scratch memory is measured while it is in use");
  measuring_ = measuring;
  if (measuring) most_used_ = 0;
}

Workspace::Part Workspace::place(size_t i) const {
  if (i == 0) return borrowed_;
  const Memory& block = blocks_[i - 1];
  return {static_cast<char*>(block.get()), block.bytes()};
}

Workspace::Part Workspace::part(int64_t i, int64_t shares) const {
  if (measuring_ || block_ >= places()) return {};
  size_t at = block_;
  int64_t used = used_;
  if (at == 0 && place(0).bytes == 0 && places() > 1) {  // nothing is in use
    at = 1;
    used = 0;
  }
  const Part all = place(at);
  const int64_t share =
      std::max<int64_t>(0, all.bytes - used) / shares / kMemoryAlignment * kMemoryAlignment;
  if (share == 0) return {};
  return {all.base + used + i * share, share};
}

void Workspace::borrow(Part part) {
  if (depth_ != 0) fail(ErrorKind::kInternal, "scratch memory is lent while it is in use");
  borrowed_ = part;
}

void* Workspace::take(int64_t bytes) {
  const int64_t rounded = aligned_bytes(bytes);
  if (measuring_) {
    used_ += rounded;
    most_used_ = std::max(most_used_, used_);
    return measured_memory;
  }
  while (block_ < places() && used_ + rounded > place(block_).bytes) {
    ++block_;
    used_ = 0;
  }
  if (block_ == places()) blocks_.emplace_back(device_, std::max(rounded, kMemoryAlignment));
  void* address = place(block_).base + used_;
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
  blocks_.emplace_back(device_, total);
}

}  // namespace saddle::backend
