#include "runtime/shared_memory.h"

#include <sys/mman.h>

#include "base/error.h"
#include "runtime/sanitizers.h"

namespace emulated {
namespace {

// Not memset: the thread sanitizer would see its writes, here those of the emulator.
void fill_with_nan(char* begin, size_t bytes) {  // both multiples of 8
  volatile uint64_t* at = reinterpret_cast<uint64_t*>(begin);
  for (size_t i = 0; i < bytes / 8; ++i) at[i] = ~uint64_t{0};
}

size_t rounded_up(size_t bytes) {
  return (bytes + 15) / 16 * 16;
}

}  // namespace

SharedMemory::SharedMemory(unsigned blocks) : copies_(blocks) {
  void* memory = mmap(nullptr, kCopyBytes * copies_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    saddle::fail(saddle::ErrorKind::kDevice, "emulated CUDA: no memory for shared memory");
  }
  memory_ = static_cast<char*>(memory);
  base_ = memory_;
}

SharedMemory::~SharedMemory() {
  unpoison(memory_, kCopyBytes * copies_);
  munmap(memory_, kCopyBytes * copies_);
}

void SharedMemory::begin_launch(size_t dynamic_bytes, size_t limit) {
  ++launch_;
  limit_ = limit;
  part_count_ = 0;
  asked_ = 0;
  used_ = kGap;  // before the first array
  add_part(dynamic_bytes, "dynamic shared memory");
}

void SharedMemory::begin_block(unsigned copy) {
  base_ = memory_ + kCopyBytes * (copy % copies_);
  poison(base_, kCopyBytes);
  unpoison(base_, kGap);
  fill_with_nan(base_, kGap);
  poison(base_, kGap);
  for (size_t i = 0; i < part_count_; ++i) fill(parts_[i]);
}

void SharedMemory::add_part(size_t bytes, const char* name) {
  parts_[part_count_++] = {used_, bytes, name};
  used_ += rounded_up(bytes) + kGap;
  asked_ += bytes;
}

void SharedMemory::fill(const Part& part) const {
  char* const begin = base_ + part.offset;
  const size_t whole = rounded_up(part.bytes) + kGap;
  unpoison(begin, whole);
  fill_with_nan(begin, whole);
  poison(begin + part.bytes, whole - part.bytes);
}

void* SharedMemory::of(SharedArray& array) {
  if (array.launch != launch_) {
    if (asked_ + array.bytes > limit_ || part_count_ == kMostArrays) return nullptr;
    add_part(array.bytes, array.name);
    fill(parts_[part_count_ - 1]);
    array.launch = launch_;
    array.offset = parts_[part_count_ - 1].offset;
  }
  return base_ + array.offset;
}

const char* SharedMemory::damaged() const {
#if !defined(__SANITIZE_ADDRESS__)  // which reports the write itself
  for (size_t i = 0; i < part_count_; ++i) {
    const Part& part = parts_[i];
    const char* const end = base_ + part.offset + rounded_up(part.bytes) + kGap;
    for (const char* at = base_ + part.offset + part.bytes; at != end; ++at) {
      if (*at != static_cast<char>(0xff)) return part.name;
    }
  }
#endif
  return nullptr;
}

}  // namespace emulated
