#include "runtime/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "runtime/sanitizers.h"

namespace emulated {
namespace {

constexpr size_t kAddresses = size_t{64} << 30;
constexpr size_t kAlignment = 256;  // of cudaMalloc
constexpr size_t kHugePage = size_t{2} << 20;
constexpr char kUnwritten = static_cast<char>(0xff);

size_t page_size() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t rounded_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

[[noreturn]] void fail_mapping(const char* what) {
  saddle::fail(saddle::ErrorKind::kDevice, "emulated CUDA: {}: {}", what, std::strerror(errno));
}

[[maybe_unused]] bool is_unwritten(const char* begin, const char* end) {
  for (; begin != end; ++begin) {
    if (*begin != kUnwritten) return false;
  }
  return true;
}

}  // namespace

DeviceMemory::DeviceMemory() : limit_(kMemoryLimit) {
  void* base = mmap(nullptr, kAddresses + kHugePage, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) fail_mapping("no addresses for device memory");
  mapped_ = static_cast<char*>(base);
  base_ = mapped_ + (kHugePage - reinterpret_cast<uintptr_t>(mapped_) % kHugePage);
  hole_ = memfd_create("emulated device memory", MFD_CLOEXEC);
  if (hole_ < 0) fail_mapping("memfd_create");
}

DeviceMemory::~DeviceMemory() {
  unpoison(base_, taken_);
  munmap(mapped_, kAddresses + kHugePage);
  close(hole_);
}

void* DeviceMemory::allocate(size_t bytes) {
  const size_t page = page_size();
  const size_t aligned = rounded_up(bytes, kAlignment);
  const bool huge = aligned >= kHugePage / 4;  // it then takes whole huge pages
  const size_t page_bytes = rounded_up(aligned, huge ? kHugePage : page);
  if (bytes > limit_ || used_ + bytes > limit_) return nullptr;
  char* const pages = take_addresses(page_bytes);
  if (pages == nullptr) return nullptr;
  if (mmap(pages, page_bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
    fail_mapping("no memory");
  }
  madvise(pages, page_bytes, MADV_HUGEPAGE);  // opening and closing takes a time for each page
  std::memset(pages, kUnwritten, page_bytes);
  char* const begin = pages + page_bytes - aligned;
  poison(pages, static_cast<size_t>(begin - pages));
  poison(begin + bytes, aligned - bytes);
  if (!is_open()) mprotect(pages, page_bytes, PROT_NONE);
  allocations_[pages] = {begin, bytes, pages, page_bytes};
  used_ += bytes;
  return begin;
}

// Addresses that were never used, with a page behind them that stays closed; null if there are
// none.
char* DeviceMemory::take_addresses(size_t page_bytes) {
  const size_t page = page_size();
  const size_t begin = page_bytes < kHugePage ? taken_ : rounded_up(taken_, kHugePage);
  if (begin + page_bytes + page > kAddresses) return nullptr;
  if (begin > taken_) close_forever(base_ + taken_, begin - taken_);
  close_forever(base_ + begin + page_bytes, page);
  taken_ = begin + page_bytes + page;
  return base_ + begin;
}

bool DeviceMemory::free(void* pointer) {
  const Allocation* found = find(pointer);
  if (found == nullptr || found->begin != pointer) return false;
  unpoison(found->pages, found->page_bytes);
  close_forever(found->pages, found->page_bytes);
  used_ -= found->bytes;
  allocations_.erase(found->pages);
  return true;
}

// Opening all device memory is one call, which must not open what lies between allocations.
void DeviceMemory::close_forever(char* begin, size_t bytes) {
  if (mmap(begin, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, hole_, 0) ==
      MAP_FAILED) {
    fail_mapping("no guard page");
  }
}

void DeviceMemory::protect(int protection) {
  if (taken_ > 0 && mprotect(base_, taken_, protection) != 0) fail_mapping("mprotect");
}

bool DeviceMemory::owns(const void* pointer) const {
  const char* at = static_cast<const char*>(pointer);
  return at >= base_ && at < base_ + kAddresses;
}

// The allocation with the highest pages that begin at or below the address.
const Allocation* DeviceMemory::last_before(const void* pointer) const {
  const auto after = allocations_.upper_bound(static_cast<const char*>(pointer));
  return after == allocations_.begin() ? nullptr : &std::prev(after)->second;
}

const Allocation* DeviceMemory::find(const void* pointer) const {
  const char* at = static_cast<const char*>(pointer);
  const Allocation* candidate = last_before(pointer);
  const bool inside = candidate != nullptr && at >= candidate->begin && at < candidate->end();
  return inside ? candidate : nullptr;
}

std::string DeviceMemory::describe(const void* pointer) const {
  if (!owns(pointer)) return fmt::format("{}, which is no address of the device", pointer);
  const char* at = static_cast<const char*>(pointer);
  const Allocation* near = last_before(pointer);
  if (near == nullptr || at >= near->pages + near->page_bytes + page_size()) {
    return fmt::format("{}, which was freed or never allocated", pointer);
  }
  const auto position = at - near->begin;
  const std::string where = position < 0        ? fmt::format("{} bytes before", -position)
                            : at >= near->end() ? fmt::format("{} bytes beyond", at - near->end())
                                                : fmt::format("byte {} of", position);
  return fmt::format("{} an allocation of {} bytes", where, near->bytes);
}

std::string DeviceMemory::why_outside(const void* pointer, size_t bytes) const {
  const Allocation* allocation = find(pointer);
  if (allocation == nullptr) return "it begins at " + describe(pointer);
  const size_t left = static_cast<size_t>(allocation->end() - static_cast<const char*>(pointer));
  if (bytes <= left) return {};
  return fmt::format("it ends {} bytes beyond an allocation of {} bytes", bytes - left,
                     allocation->bytes);
}

std::string DeviceMemory::damage() const {
#if !defined(__SANITIZE_ADDRESS__)  // which reports the write itself
  for (const auto& [pages, allocation] : allocations_) {
    const char* const end = pages + allocation.page_bytes;
    if (!is_unwritten(allocation.end(), end)) {
      return fmt::format("a write beyond the end of an allocation of {} bytes", allocation.bytes);
    }
    const char* const begin = allocation.begin;
    if (!is_unwritten(begin - std::min<ptrdiff_t>(begin - pages, kAlignment), begin)) {
      return fmt::format("a write before the begin of an allocation of {} bytes", allocation.bytes);
    }
  }
#endif
  return {};
}

DeviceMemory::Open::Open(DeviceMemory& memory) : memory_(memory) {
  if (memory_.open_++ == 0) memory_.protect(PROT_READ | PROT_WRITE);
}

DeviceMemory::Open::~Open() {
  if (--memory_.open_ == 0) memory_.protect(PROT_NONE);
}

}  // namespace emulated
