// The way of sharing products among threads that is used for each shape. By default the library
// shares one product, and several are distributed whole if that is even (gemm.h). While tuning,
// every new shape is timed in each way and the fastest is kept.
#pragma once

#include <compare>
#include <cstdint>
#include <map>

#include "backend/gemm_call.h"

namespace saddle::backend {

class Context;

struct GemmShape {
  Transpose a, b;
  int64_t m, n, k;
  int64_t count = 1;  // products of this shape in one call
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy takes the 0 of a defaulted <=> for a pointer
  auto operator<=>(const GemmShape&) const = default;
};

enum class GemmSharing {
  kLibrary,   // one call with all threads
  kRows,      // each thread computes part of the rows of C
  kColumns,   // each thread computes part of the columns of C
  kProducts,  // each thread computes some of several products
};

class GemmChoices {
 public:
  // The choice for a shape; null if it was not tuned.
  const GemmSharing* find(const GemmShape& shape) const {
    const auto known = choices_.find(shape);
    return known == choices_.end() ? nullptr : &known->second;
  }
  void keep(const GemmShape& shape, GemmSharing sharing) { choices_[shape] = sharing; }

  bool tuning() const { return tuning_; }
  void set_tuning(bool tuning) { tuning_ = tuning; }

  int64_t shapes() const { return static_cast<int64_t>(choices_.size()); }
  int64_t count(GemmSharing sharing) const {
    int64_t count = 0;
    for (const auto& [shape, choice] : choices_) count += choice == sharing ? 1 : 0;
    return count;
  }

 private:
  std::map<GemmShape, GemmSharing> choices_;
  bool tuning_ = false;
};

// Those of a context on the processor; null on other devices.
GemmChoices* gemm_choices(Context& context);

}  // namespace saddle::backend
