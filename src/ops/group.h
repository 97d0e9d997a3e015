// A group of lanes that share a row. Row bodies are written over groups, so that one formula serves
// the loops of the processor, where a group is one lane, and the kernels of other devices, where it
// is the threads of a warp or a block.
//
// A lane visits every kCount-th number of a row, beginning at index():
//
//   SADDLE_INDEPENDENT
//   for (int64_t c = group.index(); c < cols; c += Group::kCount) sum += x.load(c);
//   sum = group.sum(sum);
//
// sum() and max() return the same result to all lanes, and are called by all lanes or by none. A
// number that another lane wrote may be read after sync().
#pragma once

#include <cstdint>

namespace saddle::ops {

// The iterations of the loop that follows do not depend on each other's writes.
#if defined(__CUDACC__)
#define SADDLE_INDEPENDENT
#else
#define SADDLE_INDEPENDENT _Pragma("GCC ivdep")
#endif

struct OneLane {
  static constexpr int64_t kCount = 1;

  constexpr int64_t index() const { return 0; }
  // Whether this lane writes the results of a row.
  constexpr bool first() const { return true; }
  template <class S>
  constexpr S sum(S x) const {
    return x;
  }
  template <class T>
  constexpr T max(T x) const {
    return x;
  }
  constexpr void sync() const {}
};

}  // namespace saddle::ops
