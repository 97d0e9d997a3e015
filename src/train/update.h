// One production update: gradients accumulated over microbatches, finite checks, clipping, AdamW,
// and the mixing of several workers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/context.h"
#include "config/settings.h"
#include "data/loader.h"
#include "model/execution.h"
#include "ops/clipping.h"
#include "train/trained_model.h"

namespace saddle::train {

// The sequences of an update in host memory, both arrays [N][sequences][T].
struct UpdateBatch {
  int64_t sequences = 0;  // of each worker
  std::vector<int32_t> inputs;
  std::vector<int32_t> targets;
};

// Takes the next `blocks` blocks from the loader: worker i gets the blocks i, i + N, i + 2N, ...
// Errors: kInternal unless `blocks` is a multiple of N.
void read_batch(data::TrainingLoader& loader, int64_t blocks, int64_t workers,
                int64_t context_length, UpdateBatch& batch);

// The position of an update in the run.
struct UpdatePosition {
  int64_t step = 0;          // number of this update, from 1
  int64_t tokens = 0;        // targets trained on after it
  int64_t total_tokens = 0;  // of the whole run
  double gamma = 1;          // how strongly several workers mix (optim/mixing.h)
};

struct UpdateResult {
  std::vector<double> losses;      // of each worker: mean over its valid targets, nats
  std::vector<double> grad_norms;  // of each worker, before clipping
  double lr = 0;
  int64_t targets = 0;  // valid targets of all workers

  double mean_loss() const;
  double largest_loss() const;
  double largest_grad_norm() const;
};

// The result of max-autotune, and its cost.
struct TuningResult {
  int64_t shapes = 0;      // of matrix products
  int64_t by_library = 0;  // shared among the threads by the library, the default without tuning
  int64_t by_rows = 0;
  int64_t by_columns = 0;
  int64_t by_products = 0;  // whole products of several workers
  double seconds = 0;
};

template <class T>
class UpdateRunner {
 public:
  // Makes the execution for `settings`. `context` and `trained` must outlive the runner.
  UpdateRunner(backend::Context& context, const config::Settings& settings,
               TrainedModel<T>& trained);

  // Times every way of sharing the products of a full microbatch among threads, and keeps the
  // fastest for each shape. Writes the gradients, which the next update clears; weights and moments
  // do not change. With one thread there is nothing to choose: no shape is timed.
  TuningResult tune_products();

  // Writes the gradient of each worker's mean loss over its valid targets, in microbatches of
  // training.micro_batch_size sequences (the last one has the rest). Each microbatch is
  // weighted by 1 / (valid targets of the whole batch), so the split changes only rounding.
  // Returns losses, norms and targets; lr stays 0. Errors: kData when a worker has no valid target.
  UpdateResult accumulate_gradients(const UpdateBatch& batch);

  // The whole update; several workers mix according to settings.decentralized, in the phase of the
  // topology at update position.step - 1. Errors: kNumeric, with step, tokens and the number, when
  // a loss or gradient norm is not finite; weights and moments have not changed then.
  UpdateResult run(const UpdateBatch& batch, const UpdatePosition& position);

  model::Execution<T>& execution() { return *execution_; }

 private:
  backend::ProfiledRegion region(const char* name) const {
    return {context_.profile(), "update", name};
  }
  // As accumulate_gradients(), but losses and norms stay on the device.
  UpdateResult start(const UpdateBatch& batch);
  // Waits for the device and takes its numbers.
  void finish(UpdateResult& result);
  // The sequences [first, first + count) of every worker as the next microbatch.
  void set_microbatch(const UpdateBatch& batch, int64_t first, int64_t count);

  backend::Context& context_;
  config::OptimizerSettings optimizer_;
  config::DecentralizedSettings decentralized_;
  int64_t context_length_;
  int64_t micro_batch_size_;
  TrainedModel<T>& trained_;
  std::unique_ptr<model::Execution<T>> execution_;
  ops::UpdateNumbers numbers_;
  backend::Tensor<double> loss_weights_;  // [N, 1, 1]
  std::vector<int32_t> inputs_;           // a gathered microbatch, [N][count][T]
  std::vector<int32_t> targets_;
};

}  // namespace saddle::train
