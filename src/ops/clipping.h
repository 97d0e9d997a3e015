// The decision about an update, on the device: losses and norms of all workers, clipping, and
// whether everything is finite.
//
//   loss = weight sum      norm = sqrt(sum of squares)      scale = min(1, clip / (norm + 1e-6))
//
// (the clipping of PyTorch's clip_grad_norm_: Pascanu et al., "On the difficulty of training
// recurrent neural networks", ICML 2013, section 3.2).
#pragma once

#include <optional>

#include "ops/common.h"

namespace saddle::ops {

// The numbers of an update, in device memory.
class UpdateNumbers {
 public:
  UpdateNumbers(Context& context, int64_t workers) : numbers_(context, workers, 1, kCount) {}

  View<double> loss() const { return column(0); }   // [N, 1, 1]: sum, then mean loss
  View<double> norm() const { return column(1); }   // [N, 1, 1]: sum of squares, then norm
  View<double> scale() const { return column(2); }  // [N, 1, 1]
  View<double> commit() const { return column(3).worker_range(0, 1); }  // [1, 1, 1]: 1 or 0

  // All of them, [N][4]: loss, norm, scale, commit (of the first worker). One copy to the host.
  std::vector<double> read(Context& context) const {
    return backend::to_host<double>(context, numbers_.view());
  }
  static constexpr int64_t kCount = 4;

 private:
  View<double> column(int64_t i) const { return numbers_.view().column_range(i, 1); }

  backend::Tensor<double> numbers_;
};

// Turns sums into losses and norms, and writes scale and commit. weights [N, 1, 1]: of the losses;
// without `clip` every scale is 1. commit is 1 if the losses and norms of all workers are finite.
void decide_update(Context& context, std::optional<double> clip, View<const double> weights,
                   const UpdateNumbers& numbers);

}  // namespace saddle::ops
