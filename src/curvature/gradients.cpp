#include "curvature/gradients.h"

#include <cmath>

#include "ops/elementwise.h"
#include "ops/reduce.h"

namespace saddle::curvature {

template <class T>
GradientCalculator<T>::GradientCalculator(backend::Context& context,
                                          const config::ModelSettings& model, bool autocast,
                                          int64_t sequences, const backend::Arena<T>& weights)
    : context_(context),
      gradient_(context, weights.layout(), 1),
      loss_weight_(context, 1, 1, 1),
      execution_(model::make_execution<T>(context, model, {.compile = true, .autocast = autocast},
                                          sequences, weights, &gradient_)) {}

template <class T>
std::optional<MeanGradient> GradientCalculator<T>::compute(Microbatches& microbatches,
                                                           const Progress& progress) {
  MeanGradient result;
  result.targets = microbatches.targets();
  const double weight = 1.0 / static_cast<double>(result.targets);
  ops::fill<double>(context_, weight, loss_weight_);
  ops::fill<T>(context_, 0.0, gradient_.all());
  for (int64_t i = 0; i < microbatches.count(); ++i) {
    microbatches.read(i, microbatch_);
    execution_->set_batch(microbatch_.sequences, microbatch_.inputs.data(),
                          microbatch_.targets.data());
    execution_->run_losses_and_gradients(loss_weight_);
    result.loss += ops::read_sum<T>(context_, execution_->losses()).front();
    if (!progress(i + 1, microbatches.count())) return std::nullopt;
  }
  result.loss *= weight;
  const backend::View<const T> gradient = gradient_.all();
  result.norm = std::sqrt(ops::read_sum_of_squares<T>(context_, gradient).front());
  return result;
}

template class GradientCalculator<float>;
template class GradientCalculator<double>;

}  // namespace saddle::curvature
