// The memory of the emulated device: pages of one range of addresses, closed to the host except
// while an Open exists. The last byte of an allocation is at most 255 bytes before a page that no
// one can touch, and addresses are never used again, so accesses beyond the end and after
// cudaFree() fault; writes to the bytes in between are noticed later, by the address sanitizer at
// once.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace emulated {

struct Allocation {
  char* begin = nullptr;
  size_t bytes = 0;
  char* pages = nullptr;  // begin lies in the first of them, and the last byte in the last
  size_t page_bytes = 0;

  const char* end() const { return begin + bytes; }
};

class DeviceMemory {
 public:
  DeviceMemory();
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Memory full of NaN, aligned as cudaMalloc's; null when that would exceed the limit.
  void* allocate(size_t bytes);
  bool free(void* pointer);

  void set_limit(size_t bytes) { limit_ = bytes; }
  size_t limit() const { return limit_; }
  size_t used() const { return used_; }

  // Whether `pointer` is an address of the device, allocated or not.
  bool owns(const void* pointer) const;
  // The allocation with the address, or null.
  const Allocation* find(const void* pointer) const;
  // Where the address lies, for messages.
  std::string describe(const void* pointer) const;
  // Why [pointer, pointer + bytes) does not lie in one allocation; empty if it does.
  std::string why_outside(const void* pointer, size_t bytes) const;
  // The allocation, described, next to which something was written; empty if there is none.
  std::string damage() const;

  // Device memory can be read and written while one exists.
  class Open {
   public:
    explicit Open(DeviceMemory& memory);
    ~Open();
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    DeviceMemory& memory_;
  };
  bool is_open() const { return open_ > 0; }

 private:
  const Allocation* last_before(const void* pointer) const;
  char* take_addresses(size_t page_bytes);
  void protect(int protection);
  void close_forever(char* begin, size_t bytes);

  char* mapped_ = nullptr;
  char* base_ = nullptr;  // in it, aligned to a huge page
  size_t taken_ = 0;      // of the addresses, from base_
  size_t used_ = 0;
  size_t limit_;
  int open_ = 0;
  int hole_ = -1;  // an empty file: pages mapped to it fault even when they are opened
  std::map<const char*, Allocation> allocations_;  // by their first page
};

inline constexpr size_t kMemoryLimit = size_t{4} << 30;  // at first

}  // namespace emulated
