// Both executions against reference values of an independent program.
#include <gtest/gtest.h>

#include <numeric>

#include "model/execution.h"
#include "model/reference.h"
#include "support/golden.h"
#include "support/loss_weights.h"
#include "support/test_context.h"

namespace saddle::model {
namespace {

using num::Dual;

// The results of one run of the model, in host memory.
struct GoldenRun {
  std::vector<double> losses, gradient, gradient_tangent;
};

// One batch with the mean over valid targets as the loss; `direction` is the tangent of the weights
// for dual numbers.
template <class S>
GoldenRun run(const golden::Case& golden, bool compile, const std::vector<double>& direction = {}) {
  backend::Context context = test_context(2);
  const Parameters parameters(golden.model);
  backend::Arena<S> weights(context, parameters.layout, 1);
  backend::Arena<S> gradients(context, parameters.layout, 1);
  golden::load_weights(golden, context, weights);
  if (!direction.empty()) golden::parameters_from_host(direction, weights, 1);

  const auto execution = make_execution<S>(context, golden.model, {.compile = compile},
                                           golden.sequences, weights, &gradients);
  execution->set_batch(golden.sequences, golden.inputs.data(), golden.targets.data());
  const double weight = 1.0 / static_cast<double>(golden.valid_targets());
  execution->run_losses_and_gradients(loss_weights(context, 1, weight));

  GoldenRun result;
  const auto losses = backend::to_host<S>(context, execution->losses());
  result.losses.assign(losses.begin(), losses.end());
  result.gradient = golden::parameters_to_host(gradients);
  if (num::kPlanes<S> == 2) result.gradient_tangent = golden::parameters_to_host(gradients, 1);
  return result;
}

double mean_loss(const golden::Case& golden, const std::vector<double>& losses) {
  return std::accumulate(losses.begin(), losses.end(), 0.0) /
         static_cast<double>(golden.valid_targets());
}

class Golden : public ::testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  golden::Case golden_ = golden::load(std::get<0>(GetParam()));
  bool compile_ = std::get<1>(GetParam());
};

// Two float64 programs with differently ordered sums agree to 1e-10 relative on a model of this
// depth with a wide margin (about 1e-15 was observed).
constexpr double kFloat64 = 1e-10;

TEST_P(Golden, LossesAndGradientsInFloat64) {
  const GoldenRun result = run<double>(golden_, compile_);
  const auto losses = golden::expected(golden_, "token_losses");
  for (size_t i = 0; i < losses.size(); ++i) {
    const double expected = golden_.targets[i] == -100 ? 0.0 : losses[i];
    EXPECT_NEAR(result.losses[i], expected, kFloat64 * losses[i]) << "target " << i;
  }
  EXPECT_NEAR(mean_loss(golden_, result.losses) / golden_.scalars["loss_mean"].get<double>(), 1,
              kFloat64);
  EXPECT_LT(golden::relative_l2(result.gradient, golden::expected_parameters(golden_, "gradient.")),
            kFloat64);
}

// Float has 24 bits: 1e-5 for losses and 1e-4 for gradients, whose sums are longer.
TEST_P(Golden, LossesAndGradientsInFloat32) {
  const GoldenRun result = run<float>(golden_, compile_);
  const auto losses = golden::expected(golden_, "token_losses");
  for (size_t i = 0; i < losses.size(); ++i) {
    const double expected = golden_.targets[i] == -100 ? 0.0 : losses[i];
    EXPECT_NEAR(result.losses[i], expected, 1e-5 * losses[i]) << "target " << i;
  }
  EXPECT_NEAR(mean_loss(golden_, result.losses) / golden_.scalars["loss_mean"].get<double>(), 1,
              1e-5);
  EXPECT_LT(golden::relative_l2(result.gradient, golden::expected_parameters(golden_, "gradient.")),
            1e-4);
}

TEST_P(Golden, HessianVectorProductsThroughDualNumbers) {
  for (const std::string kind : {"rademacher", "gaussian"}) {
    const auto direction = golden::expected_parameters(golden_, "direction." + kind + ".");
    const auto expected = golden::expected_parameters(golden_, "hvp." + kind + ".");
    const GoldenRun result = run<Dual<double>>(golden_, compile_, direction);
    EXPECT_LT(golden::relative_l2(result.gradient_tangent, expected), kFloat64) << kind;
    EXPECT_LT(
        golden::relative_l2(result.gradient, golden::expected_parameters(golden_, "gradient.")),
        kFloat64);
    const double form = std::inner_product(direction.begin(), direction.end(),
                                           result.gradient_tangent.begin(), 0.0);
    EXPECT_NEAR(form / golden_.scalars["vHv_" + kind].get<double>(), 1, kFloat64) << kind;

    const GoldenRun narrow = run<Dual<float>>(golden_, compile_, direction);
    EXPECT_LT(golden::relative_l2(narrow.gradient_tangent, expected), 1e-4) << kind;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Golden,
                         ::testing::Combine(::testing::Values("tiny", "oneblock"),
                                            ::testing::Bool()),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) +
                                  (std::get<1>(test.param) ? "Compiled" : "Eager");
                         });

// Only this execution stores logits; the plan is tested by its losses.
template <class T>
void compare_logits(const char* name, double tolerance) {
  const golden::Case golden = golden::load(name);
  backend::Context context = test_context(1);
  const Parameters parameters(golden.model);
  backend::Arena<T> weights(context, parameters.layout, 1);
  golden::load_weights(golden, context, weights);
  Reference<T> reference(context, golden.model, {}, golden.sequences, weights, nullptr);
  reference.set_batch(golden.sequences, golden.inputs.data(), golden.targets.data());
  reference.run_losses();
  const auto found =
      backend::to_host<T>(context, reference.logits().row_range(0, golden.model.context_length));
  const std::vector<double> logits(found.begin(), found.end());
  EXPECT_LT(golden::relative_l2(logits, golden::expected(golden, "logits_row0")), tolerance);
}

TEST(GoldenLogits, OfTheFirstSequence) {
  for (const char* name : {"tiny", "oneblock"}) {
    compare_logits<double>(name, kFloat64);
    compare_logits<float>(name, 1e-5);  // as the losses
  }
}

}  // namespace
}  // namespace saddle::model
