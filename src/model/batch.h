// The tokens of a microbatch in device memory.
#pragma once

#include <cstdint>

#include "backend/tensor.h"
#include "base/error.h"
#include "config/settings.h"

namespace saddle::model {

class DeviceBatch {
 public:
  // Room for at most `sequences` sequences of `positions` tokens for each of `workers` workers.
  DeviceBatch(backend::Context& context, int64_t workers, int64_t sequences, int64_t positions)
      : capacity_(sequences),
        positions_(positions),
        inputs_(context, workers, sequences * positions, 1),
        targets_(context, workers, sequences * positions, 1),
        loss_weights_(nullptr, workers, 1, 1, 1, 1, 0) {}

  // Copies B sequences for each worker; both arrays are [workers][B][positions] in host memory.
  void set(backend::Context& context, int64_t sequences, const int32_t* inputs,
           const int32_t* targets) {
    if (sequences < 1 || sequences > capacity_) {
      fail(ErrorKind::kInternal, "a batch of {} sequences, but 1 to {} were planned", sequences,
           capacity_);
    }
    sequences_ = sequences;
    backend::copy_from_host<int32_t>(context, inputs, 0, writable(inputs_));
    backend::copy_from_host<int32_t>(context, targets, 0, writable(targets_));
  }

  // Assumes B sequences without copying any, to measure with.
  void set_sequences(int64_t sequences) { sequences_ = sequences; }

  // What multiplies the gradient of each worker's losses, [N, 1, 1] in device memory; it is not
  // copied.
  void set_loss_weights(tensor::View<const double> weights) {
    if (weights.workers() != inputs_.view().workers() || weights.rows() * weights.cols() != 1) {
      fail(ErrorKind::kInternal, "weights of losses [{}, {}, {}] for {} workers", weights.workers(),
           weights.rows(), weights.cols(), inputs_.view().workers());
    }
    loss_weights_ = weights;
  }

  int64_t sequences() const { return sequences_; }
  int64_t rows() const { return sequences_ * positions_; }  // of a worker
  tensor::View<const int32_t> inputs() const { return writable(inputs_); }
  tensor::View<const int32_t> targets() const { return writable(targets_); }
  tensor::View<const double> loss_weights() const { return loss_weights_; }  // [N, 1, 1]

 private:
  tensor::View<int32_t> writable(const backend::Tensor<int32_t>& all) const {
    return all.view().row_range(0, rows());
  }

  int64_t capacity_, positions_;
  int64_t sequences_ = 0;
  backend::Tensor<int32_t> inputs_;
  backend::Tensor<int32_t> targets_;
  tensor::View<const double> loss_weights_;
};

}  // namespace saddle::model
