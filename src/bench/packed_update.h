// One update of N workers, divided into parts; packed or one worker after another.
#pragma once

#include <memory>
#include <vector>

#include "bench/packed.h"
#include "model/execution.h"
#include "ops/clipping.h"
#include "ops/mixing.h"
#include "train/trained_model.h"

namespace saddle::bench {

template <class T>
class PackedUpdate {
 public:
  PackedUpdate(backend::Context& context, const config::Settings& settings, PackedMode mode);

  // Runs a whole update as in training; `step` counts from 1.
  void run(int64_t step);

  // Its parts: the gradients of each worker's mean loss, and the sums of losses; then the mean
  // losses and the scales that clip the gradients; then, in the order of the scheme, mixing and
  // AdamW.
  void compute();
  void clip();
  void mix(int64_t step);
  void adamw(int64_t step);
  bool mixes_first() const;

  // The mean losses of the last update, for each worker; to be called after clip().
  std::vector<double> losses();
  const train::TrainedModel<T>& trained() const { return trained_; }

 private:
  ops::Mixing mixing(int64_t step) const;

  backend::Context& context_;
  config::Settings settings_;
  PackedMode mode_;
  int64_t workers_;
  train::TrainedModel<T> trained_;
  // The arenas of the execution: of all workers, or of one.
  backend::Arena<T> seen_weights_, seen_gradients_;
  std::unique_ptr<model::Execution<T>> execution_;
  backend::Tensor<double> weights_;        // of the losses, [N, 1, 1]
  std::vector<int32_t> inputs_, targets_;  // [N][B][T]
  ops::UpdateNumbers numbers_;
};

}  // namespace saddle::bench
