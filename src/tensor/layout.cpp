#include "tensor/layout.h"

#include <utility>

#include "base/error.h"

namespace saddle::tensor {

int Layout::add_matrix(std::string name, int64_t rows, int64_t cols) {
  return add(std::move(name), rows, cols, false);
}

int Layout::add_vector(std::string name, int64_t size) {
  return add(std::move(name), 1, size, true);
}

int Layout::add(std::string name, int64_t rows, int64_t cols, bool is_vector) {
  if (rows < 1 || cols < 1) {
    fail(ErrorKind::kInternal, "tensor {} has no elements: [{}, {}]", name, rows, cols);
  }
  if (find(name) != nullptr) fail(ErrorKind::kInternal, "tensor {} is laid out twice", name);
  slots_.push_back({std::move(name), rows, cols, is_vector, padded_size_});
  size_ += rows * cols;
  padded_size_ += (rows * cols + kAlignment - 1) / kAlignment * kAlignment;
  return static_cast<int>(slots_.size()) - 1;
}

const Slot* Layout::find(std::string_view name) const {
  for (const Slot& slot : slots_) {
    if (slot.name == name) return &slot;
  }
  return nullptr;
}

}  // namespace saddle::tensor
