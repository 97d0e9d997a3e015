#include "curvature/dual_model.h"

#include <vector>

#include "ops/elementwise.h"

namespace saddle::curvature {

template <class T>
DualModel<T>::DualModel(backend::Context& context, const config::ModelSettings& model,
                        model::ExecutionOptions options, int64_t sequences,
                        const backend::Arena<T>& weights)
    : context_(context),
      source_(weights),
      weights_(context, weights.layout(), 1),
      gradient_(context, weights.layout(), 1),
      loss_weight_(context, 1, 1, 1),
      execution_(
          model::make_execution<S>(context, model, options, sequences, weights_, &gradient_)) {}

template <class T>
void DualModel<T>::set_direction(backend::View<const T> direction) {
  ops::copy<T>(context_, source_.all(), weights_.all().plane(0));
  ops::copy<T>(context_, direction, weights_.all().plane(1));
  clear_gradient();
}

template <class T>
void DualModel<T>::clear_gradient() {
  ops::fill<S>(context_, 0.0, gradient_.all());
}

template <class T>
void DualModel<T>::accumulate(const Microbatch& microbatch, double weight) {
  execution_->set_batch(microbatch.sequences, microbatch.inputs.data(), microbatch.targets.data());
  ops::fill<double>(context_, weight, loss_weight_);
  execution_->run_losses_and_gradients(loss_weight_);
}

template class DualModel<float>;
template class DualModel<double>;

}  // namespace saddle::curvature
