// The places of named tensors in an arena [N, D_padded]: one after another, each at a multiple of
// kAlignment numbers, so that weights, gradients and moments share one set of offsets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace saddle::tensor {

struct Slot {
  std::string name;
  int64_t rows = 0;
  int64_t cols = 0;
  bool is_vector = false;  // stored as [cols] in files; has no weight decay
  int64_t offset = 0;      // numbers from the start of a worker's part of the arena
  int64_t size() const { return rows * cols; }
};

class Layout {
 public:
  static constexpr int64_t kAlignment = 64;

  // Appends a tensor and returns its index.
  int add_matrix(std::string name, int64_t rows, int64_t cols);
  int add_vector(std::string name, int64_t size);

  const std::vector<Slot>& slots() const { return slots_; }
  const Slot& slot(int index) const { return slots_.at(index); }
  const Slot* find(std::string_view name) const;  // null if there is none

  int64_t size() const { return size_; }                // numbers without padding: D
  int64_t padded_size() const { return padded_size_; }  // numbers with padding

 private:
  int add(std::string name, int64_t rows, int64_t cols, bool is_vector);
  std::vector<Slot> slots_;
  int64_t size_ = 0;
  int64_t padded_size_ = 0;
};

}  // namespace saddle::tensor
