// The memory of a training: weights, gradients and optimizer of N workers, in arenas of one layout.
#pragma once

#include <cstdint>

#include "backend/tensor.h"
#include "config/settings.h"
#include "model/parameters.h"
#include "optim/adamw.h"

namespace saddle::train {

// Counts of the work done with a model; only records use them.
struct WorkCounters {
  int64_t updates = 0;
  int64_t profiled_updates = 0;  // among them
  int64_t evaluations = 0;
  int64_t checkpoints = 0;  // states written
};

template <class T>
struct TrainedModel {
  // Initially all zero.
  TrainedModel(backend::Context& context, const config::Settings& settings, int64_t worker_count)
      : weights(context, model::Parameters(settings.model).layout, worker_count),
        gradients(context, weights.layout(), worker_count),
        optimizer(context, settings.optimizer, weights) {}
  TrainedModel(const TrainedModel&) = delete;
  TrainedModel& operator=(const TrainedModel&) = delete;

  int64_t workers() const { return weights.workers(); }

  mutable WorkCounters counters;  // no part of the model: saving it counts too
  backend::Arena<T> weights;
  backend::Arena<T> gradients;
  optim::AdamW<T> optimizer;
};

}  // namespace saddle::train
