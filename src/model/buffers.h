// Lays out the buffers of a plan in one block of memory: first measures, then assigns them.
#pragma once

#include <cstdint>

#include "backend/tensor.h"

namespace saddle::model {

template <class S>
class Buffers {
 public:
  // Without memory: only measures, and returns empty views.
  Buffers() = default;
  explicit Buffers(const backend::Memory& memory)
      : base_(static_cast<num::Plane<S>*>(memory.get())) {}

  // The next [workers, rows, cols], contiguous, each plane aligned.
  tensor::View<S> take(int64_t workers, int64_t rows, int64_t cols) {
    constexpr int64_t kAlignment = tensor::Layout::kAlignment;
    const int64_t size = workers * rows * cols;
    const int64_t padded = (size + kAlignment - 1) / kAlignment * kAlignment;
    num::Plane<S>* at = base_ == nullptr ? nullptr : base_ + used_;
    used_ += padded * num::kPlanes<S>;
    return {at, workers, rows, cols, rows * cols, cols, padded};
  }

  int64_t bytes() const { return used_ * static_cast<int64_t>(sizeof(num::Plane<S>)); }

 private:
  num::Plane<S>* base_ = nullptr;
  int64_t used_ = 0;
};

}  // namespace saddle::model
