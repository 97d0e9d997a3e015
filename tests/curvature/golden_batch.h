// The reference models of support/golden.h in the form that curvature code uses.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "curvature/hessian_vector_product.h"
#include "curvature/quadratic_forms.h"
#include "curvature/stored_microbatches.h"
#include "model/execution.h"
#include "support/expect_error.h"
#include "support/golden.h"
#include "support/test_context.h"

namespace saddle::curvature {

inline constexpr std::array kAllMethods = {Method::kDoubleBackward, Method::kForwardReverse,
                                           Method::kForwardForward, Method::kAdjointWeighted};

inline bool go_on(int64_t /*done*/, int64_t /*total*/) {
  return true;
}

// Weights in device memory.
template <class T>
struct GoldenModel {
  explicit GoldenModel(const golden::Case& golden, int threads = 1)
      : context(test_context(threads)),
        weights(context, model::Parameters(golden.model).layout, 1) {
    golden::load_weights(golden, context, weights);
  }
  backend::Context context;
  backend::Arena<T> weights;
};

inline StoredMicrobatches golden_microbatches(const golden::Case& golden, int64_t sequences) {
  return {golden.inputs, golden.targets, golden.model.context_length, sequences};
}

// Hv in the canonical order, without padding.
template <class T>
std::vector<double> hessian_times(const golden::Case& golden, const std::vector<double>& direction,
                                  int64_t sequences) {
  GoldenModel<T> model(golden);
  backend::Arena<T> lanes(model.context, model.weights.layout(), 3);
  golden::parameters_from_host(direction, lanes, 0, 1);
  StoredMicrobatches microbatches = golden_microbatches(golden, sequences);
  HessianVectorProduct<T> hessian(model.context, golden.model, false, sequences, model.weights);
  hessian.apply(microbatches, lanes.all().worker_range(1, 1), lanes.all().worker_range(2, 1),
                go_on);
  return golden::parameters_to_host(lanes, 0, 2);
}

// The mean loss at weights + step * direction, in float64.
inline double mean_loss_along(const golden::Case& golden, const std::vector<double>& direction,
                              double step) {
  GoldenModel<double> model(golden);
  std::vector<double> weights = golden::parameters_to_host(model.weights);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] += step * direction[i];
  golden::parameters_from_host(weights, model.weights);
  const auto execution = model::make_execution<double>(
      model.context, golden.model, {.compile = false}, golden.sequences, model.weights, nullptr);
  execution->set_batch(golden.sequences, golden.inputs.data(), golden.targets.data());
  execution->run_losses();
  double sum = 0;
  for (const double loss : backend::to_host<double>(model.context, execution->losses()))
    sum += loss;
  return sum / static_cast<double>(golden.valid_targets());
}

}  // namespace saddle::curvature
