// Running the model: losses and gradients of a microbatch. There are two executions with one
// interface: operation by operation (model/reference.h), and a plan made once (model/plan.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/tensor.h"
#include "config/settings.h"
#include "num/wide.h"

namespace saddle::model {

struct ExecutionOptions {
  bool compile = true;    // the plan; false: operation by operation
  bool autocast = false;  // inputs of matrix products in the forward pass rounded to bf16
};

// S: the number type of the calculation. Weights and gradients are [N, D_padded], one row per
// worker.
template <class S>
class Execution {
 public:
  Execution() = default;
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  virtual ~Execution() = default;

  // Copies a microbatch of B sequences for each worker from host memory, both [N][B][T]. B is
  // between 1 and the number of sequences that the execution was made for. Targets are ids or
  // kIgnoredTarget.
  virtual void set_batch(int64_t sequences, const int32_t* inputs, const int32_t* targets) = 0;

  // Must be called when the arenas point to other memory; then a batch must be set.
  virtual void rebind() = 0;

  // Computes the loss of every target of the batch.
  virtual void run_losses() = 0;

  // Computes the losses, and accumulates the gradient of sum_m weights[n] loss_m for each worker n
  // into the gradients arena. weights [N, 1, 1] in device memory. Error: kInternal if the execution
  // was made without gradients.
  virtual void run_losses_and_gradients(tensor::View<const double> weights) = 0;

  // Losses of the last run, [N, B*T, 1], 0 where the target is ignored.
  virtual tensor::View<const S> losses() const = 0;
};

// An execution for at most `sequences` sequences per worker; `weights` and `gradients` (null:
// losses only) must outlive it and are read again in every run. Over jets there is only the plan,
// and only losses.
template <class S>
std::unique_ptr<Execution<S>> make_execution(backend::Context& context,
                                             const config::ModelSettings& model,
                                             ExecutionOptions options, int64_t sequences,
                                             const backend::Arena<S>& weights,
                                             backend::Arena<S>* gradients);

}  // namespace saddle::model
