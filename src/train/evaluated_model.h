// The model that a run evaluates and whose weights it keeps: that of its only worker, or the plain
// average of several, in separate memory.
#pragma once

#include <memory>
#include <optional>

#include "backend/context.h"
#include "config/settings.h"
#include "model/execution.h"
#include "ops/mixing.h"
#include "train/trained_model.h"

namespace saddle::train {

template <class T>
class EvaluatedModel {
 public:
  // With one worker, uses `training`, the execution of `trained`; with several, makes a separate
  // execution for training.micro_batch_size sequences. All arguments must outlive this.
  EvaluatedModel(backend::Context& context, const config::Settings& settings,
                 const TrainedModel<T>& trained, model::Execution<T>& training)
      : context_(context), trained_(trained), execution_(&training) {
    if (trained.workers() == 1) return;
    average_.emplace(context, trained.weights.layout(), 1);
    own_ = model::make_execution<T>(context, settings.model,
                                    {settings.runtime.compile, settings.runtime.amp},
                                    settings.training.micro_batch_size, *average_, nullptr);
    execution_ = own_.get();
  }

  // Takes over the current weights. Only reads them: training does not change.
  void refresh() {
    if (average_) ops::worker_mean<T>(context_, trained_.weights.all(), average_->all());
  }

  // As of the last refresh(), [1, D_padded].
  const backend::Arena<T>& weights() const { return average_ ? *average_ : trained_.weights; }
  model::Execution<T>& execution() { return *execution_; }

 private:
  backend::Context& context_;
  const TrainedModel<T>& trained_;
  std::optional<backend::Arena<T>> average_;
  std::unique_ptr<model::Execution<T>> own_;
  model::Execution<T>* execution_;
};

}  // namespace saddle::train
