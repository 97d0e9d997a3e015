// The tokens of a microbatch in device memory.
#pragma once

#include <cstdint>

#include "backend/tensor.h"
#include "config/settings.h"

namespace saddle::model {

class DeviceBatch {
 public:
  // Room for at most `sequences` sequences of `positions` tokens for each of `workers` workers.
  DeviceBatch(backend::Context& context, int64_t workers, int64_t sequences, int64_t positions)
      : capacity_(sequences),
        positions_(positions),
        inputs_(context, workers, sequences * positions, 1),
        targets_(context, workers, sequences * positions, 1) {}

  // Copies B sequences for each worker; both arrays are [workers][B][positions] in host memory.
  void set(int64_t sequences, const int32_t* inputs, const int32_t* targets) {
    if (sequences < 1 || sequences > capacity_) {
      fail(ErrorKind::kInternal, "a batch of {} sequences where 1 to {} were planned", sequences,
           capacity_);
    }
    sequences_ = sequences;
    backend::copy_from_host<int32_t>(inputs, 0, writable(inputs_));
    backend::copy_from_host<int32_t>(targets, 0, writable(targets_));
  }

  int64_t sequences() const { return sequences_; }
  int64_t rows() const { return sequences_ * positions_; }  // of a worker
  tensor::View<const int32_t> inputs() const { return writable(inputs_); }
  tensor::View<const int32_t> targets() const { return writable(targets_); }

 private:
  tensor::View<int32_t> writable(const backend::Tensor<int32_t>& all) const {
    return all.view().row_range(0, rows());
  }

  int64_t capacity_, positions_;
  int64_t sequences_ = 0;
  backend::Tensor<int32_t> inputs_;
  backend::Tensor<int32_t> targets_;
};

}  // namespace saddle::model
