// Gradients of mean losses, over an epoch or a single optimizer batch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backend/tensor.h"
#include "config/settings.h"
#include "curvature/microbatches.h"
#include "curvature/quadratic_forms.h"
#include "model/execution.h"

namespace saddle::curvature {

struct MeanGradient {
  double loss = 0;  // mean over the targets, nats
  double norm = 0;  // |gradient|
  int64_t targets = 0;
};

template <class T>
class GradientCalculator {
 public:
  // For microbatches of at most `sequences` sequences, by the plan. `weights` [1, D_padded] must
  // outlive it.
  GradientCalculator(backend::Context& context, const config::ModelSettings& model, bool autocast,
                     int64_t sequences, const backend::Arena<T>& weights);

  // Sets gradient() to that of the mean loss over all targets of all microbatches, accumulated in T
  // as in training. Nothing if `progress` said stop; it is called after every microbatch.
  std::optional<MeanGradient> compute(Microbatches& microbatches, const Progress& progress);

  // [1, D_padded].
  const backend::Arena<T>& gradient() const { return gradient_; }

 private:
  backend::Context& context_;
  backend::Arena<T> gradient_;
  backend::Tensor<double> loss_weight_;  // [1, 1, 1]
  std::unique_ptr<model::Execution<T>> execution_;
  Microbatch microbatch_;
};

}  // namespace saddle::curvature
