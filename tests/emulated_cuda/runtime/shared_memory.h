// The shared memory of the block that runs.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "emulated/kernel.h"

namespace emulated {

inline constexpr size_t kSharedBytes = 227 << 10;        // that a launch may ask for at most
inline constexpr size_t kSharedBytesUnasked = 48 << 10;  // without cudaFuncSetAttribute()

class SharedMemory {
 public:
  // One copy for each of `blocks` blocks in a row whose accesses the thread sanitizer does not
  // order, so that it does not take one block's use for another's.
  explicit SharedMemory(unsigned blocks);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void begin_launch(size_t dynamic_bytes, size_t limit);

  // Fills everything known so far with NaN.
  void begin_block(unsigned copy);

  // The memory of an array, or null if the launch has too little.
  void* of(SharedArray& array);
  void* dynamic() const { return base_ + kGap; }

  // The name of an array that was written to beyond its end, or null.
  const char* damaged() const;

  size_t limit() const { return limit_; }

 private:
  // Arrays are apart, so that a write beyond the end of one is noticed.
  static constexpr size_t kGap = 64;
  static constexpr size_t kMostArrays = 64;
  static constexpr size_t kCopyBytes = size_t{256} << 10;
  struct Part {
    size_t offset;
    size_t bytes;
    const char* name;
  };

  void add_part(size_t bytes, const char* name);
  void fill(const Part& part) const;

  unsigned copies_;
  char* memory_;
  char* base_;  // of the copy in use
  std::array<Part, kMostArrays> parts_{};
  size_t part_count_ = 0;
  size_t used_ = 0;   // with gaps
  size_t asked_ = 0;  // without
  size_t limit_ = 0;
  uint64_t launch_ = 0;
};

}  // namespace emulated
