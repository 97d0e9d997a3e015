// The model operation by operation: separate projections, scores and logits stored whole, memory
// allocated by each operation. Simple enough to be trusted; the plan is checked against it.
#pragma once

#include "model/batch.h"
#include "model/execution.h"
#include "model/parameters.h"
#include "model/rope_cache.h"
#include "model/tape.h"

namespace saddle::model {

template <class S>
class Reference : public Execution<S> {
 public:
  // As make_execution(); options.compile is ignored.
  Reference(backend::Context& context, const config::ModelSettings& model, ExecutionOptions options,
            int64_t sequences, const backend::Arena<S>& weights, backend::Arena<S>* gradients);

  void set_batch(int64_t sequences, const int32_t* inputs, const int32_t* targets) override;
  void rebind() override {}  // reads its arenas in every run
  void run_losses() override;
  void run_losses_and_gradients(tensor::View<const double> weights) override;
  tensor::View<const S> losses() const override { return losses_->value; }

  // Logits of the last run, [N, B*T, V].
  tensor::View<const S> logits() const { return logits_->value; }

 private:
  void forward(Tape<S>& tape);
  // Frees the memory of the last run.
  void release();

  backend::Context& context_;
  config::ModelSettings model_;
  ExecutionOptions options_;
  Parameters parameters_;
  RopeCache<num::Plane<S>> rope_;
  DeviceBatch batch_;
  const backend::Arena<S>& weights_;
  backend::Arena<S>* gradients_;
  Variable<S> losses_;
  Variable<S> logits_;
};

}  // namespace saddle::model
