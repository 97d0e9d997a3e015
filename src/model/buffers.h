// Lays out the buffers of a plan in one block of memory: first measures, then assigns them.
#pragma once

#include <cstdint>

#include "backend/tensor.h"

namespace saddle::model {

class Buffers {
 public:
  // Without memory: only measures, and returns empty views.
  Buffers() = default;
  explicit Buffers(const backend::Memory& memory) : base_(static_cast<char*>(memory.get())) {}

  // The next [workers, rows, cols], contiguous, each plane aligned.
  template <class S>
  tensor::View<S> take(int64_t workers, int64_t rows, int64_t cols) {
    constexpr auto kBytes = static_cast<int64_t>(sizeof(num::Plane<S>));
    constexpr int64_t kAlignment = tensor::Layout::kAlignment;
    const int64_t size = workers * rows * cols;
    const int64_t padded = (size + kAlignment - 1) / kAlignment * kAlignment;
    auto* const at = base_ == nullptr ? nullptr : reinterpret_cast<num::Plane<S>*>(base_ + used_);
    used_ += padded * num::kPlanes<S> * kBytes;
    return {at, workers, rows, cols, rows * cols, cols, padded};
  }

  int64_t bytes() const { return used_; }

 private:
  char* base_ = nullptr;
  int64_t used_ = 0;
};

}  // namespace saddle::model
