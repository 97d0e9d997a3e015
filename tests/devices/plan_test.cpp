// The plan on the device of the test against the processor: losses and gradients.
#include <gtest/gtest.h>

#include "base/random.h"
#include "model/execution.h"
#include "model/initial_weights.h"
#include "model/parameters.h"
#include "support/golden.h"
#include "support/loss_weights.h"
#include "support/test_context.h"

namespace saddle::model {
namespace {

config::ModelSettings small_model() {
  config::ModelSettings model;
  model.vocab_size = 97;
  model.context_length = 20;
  model.layers = 2;
  model.width = 32;
  model.heads = 2;
  model.ffn_width = 48;
  return model;
}

struct Result {
  std::vector<double> losses, gradients;
};

Result run(backend::Context& context, int64_t workers) {
  const config::ModelSettings model = small_model();
  backend::Arena<double> weights(context, Parameters(model).layout, workers);
  backend::Arena<double> gradients(context, weights.layout(), workers);
  set_initial_weights<double>(context, model, 1, weights);
  const auto execution = make_execution<double>(context, model, {}, 2, weights, &gradients);
  std::vector<int32_t> inputs, targets;
  const RandomStream random(3, RandomPurpose::kTest);
  for (int64_t i = 0; i < workers * 2 * model.context_length; ++i) {
    inputs.push_back(static_cast<int32_t>(random.uniform(2 * i) * 97));
    targets.push_back(static_cast<int32_t>(random.uniform(2 * i + 1) * 97));
  }
  execution->set_batch(2, inputs.data(), targets.data());
  execution->run_losses_and_gradients(loss_weights(context, workers, 0.025));
  return {backend::to_host<double>(context, execution->losses()),
          backend::to_host<double>(context, backend::View<const double>(gradients.all()))};
}

TEST(Devices, Agree) {
  for (const int64_t workers : {1, 3}) {
    backend::Context cpu(2);
    const Result expected = run(cpu, workers);
    backend::Context context = test_context(1);
    EXPECT_EQ(context.on_host(), tests_the_processor());
    const Result found = run(context, workers);
    EXPECT_LT(golden::relative_l2(found.losses, expected.losses), 1e-13);
    EXPECT_LT(golden::relative_l2(found.gradients, expected.gradients), 1e-12);
  }
}

}  // namespace
}  // namespace saddle::model
