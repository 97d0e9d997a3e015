// The model over dual numbers: the tangent of its weights is a direction, and the tangent of its
// gradient is the Hessian times that direction.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/tensor.h"
#include "config/settings.h"
#include "curvature/microbatches.h"
#include "model/execution.h"
#include "num/dual.h"

namespace saddle::curvature {

template <class T>
class DualModel {
 public:
  using S = num::Dual<T>;

  // `weights` [1, D_padded] must outlive it.
  DualModel(backend::Context& context, const config::ModelSettings& model,
            model::ExecutionOptions options, int64_t sequences, const backend::Arena<T>& weights);

  // Sets the current weights and the direction [1, 1, D_padded], and clears the gradient.
  void set_direction(backend::View<const T> direction);

  void clear_gradient();
  // Accumulates the gradient of `weight` times the sum of the losses, including its tangent.
  void accumulate(const Microbatch& microbatch, double weight);

  // The tangent of the gradient: `weight` H v, [1, 1, D_padded].
  backend::View<T> gradient_tangent() const { return gradient_.all().plane(1); }

  backend::Context& context() { return context_; }

 private:
  backend::Context& context_;
  const backend::Arena<T>& source_;
  backend::Arena<S> weights_;
  backend::Arena<S> gradient_;
  backend::Tensor<double> loss_weight_;  // [1, 1, 1]
  std::unique_ptr<model::Execution<S>> execution_;
};

}  // namespace saddle::curvature
