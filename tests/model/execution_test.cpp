// The two executions against each other, with different batch shapes, workers and precisions, and
// their memory.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "model/execution.h"
#include "model/initial_weights.h"
#include "model/parameters.h"
#include "model/tangent_sweep.h"
#include "ops/cross_entropy_row.h"
#include "support/golden.h"
#include "support/loss_weights.h"
#include "support/test_context.h"

namespace saddle::model {
namespace {

// Small, but with more than one block of attention rows (kQueryRows) and several heads.
config::ModelSettings small_model() {
  config::ModelSettings model;
  model.vocab_size = 97;
  model.context_length = 150;
  model.layers = 2;
  model.width = 32;
  model.heads = 2;
  model.ffn_width = 48;
  return model;
}

struct HostBatch {
  int64_t sequences;
  std::vector<int32_t> inputs, targets;
};

// Random tokens, every seventh target ignored; [workers][sequences][T].
HostBatch random_batch(const config::ModelSettings& model, int64_t workers, int64_t sequences,
                       uint64_t seed) {
  const RandomStream stream(seed, RandomPurpose::kTest);
  HostBatch batch{sequences, {}, {}};
  for (int64_t i = 0; i < workers * sequences * model.context_length; ++i) {
    batch.inputs.push_back(static_cast<int32_t>(stream.below(2 * i, model.vocab_size)));
    batch.targets.push_back(i % 7 == 3
                                ? kIgnoredTarget
                                : static_cast<int32_t>(stream.below(2 * i + 1, model.vocab_size)));
  }
  return batch;
}

struct Result {
  std::vector<double> losses;
  std::vector<std::vector<double>> gradients;  // of each worker
};

// A model with weights large enough that nothing is nearly linear.
template <class T>
class ModelRun {
 public:
  ModelRun(int64_t workers, int threads)
      : context(test_context(threads)),
        model(small_model()),
        parameters(model),
        weights(context, parameters.layout, workers),
        gradients(context, parameters.layout, workers),
        scale(context, workers, 1, 1) {
    backend::Arena<double> initial(context, parameters.layout, 1);
    set_initial_weights(context, model, 7, initial);
    std::vector<double> values = golden::parameters_to_host(initial);
    for (double& x : values) x = x == 1.0 ? x : 5.0 * x;
    for (int64_t n = 0; n < workers; ++n) {
      golden::parameters_from_host(values, weights, 0, n);
      for (double& x : values) x *= 1.03;  // each worker has a different model
    }
  }

  Result run(ExecutionOptions options, const HostBatch& batch, int64_t capacity,
             double loss_weight = 1.0 / 100) {
    const auto execution =
        make_execution<T>(context, model, options, capacity, weights, &gradients);
    return run(*execution, batch, loss_weight);
  }

  Result run(Execution<T>& execution, const HostBatch& batch, double loss_weight = 1.0 / 100) {
    ops::fill<double>(context, loss_weight, scale);
    std::vector<double> zero(parameters.layout.size(), 0.0);
    for (int64_t n = 0; n < weights.workers(); ++n) {
      golden::parameters_from_host(zero, gradients, 0, n);
    }
    execution.set_batch(batch.sequences, batch.inputs.data(), batch.targets.data());
    execution.run_losses_and_gradients(scale);
    Result result;
    const auto losses = backend::to_host<T>(context, execution.losses());
    result.losses.assign(losses.begin(), losses.end());
    for (int64_t n = 0; n < weights.workers(); ++n) {
      result.gradients.push_back(golden::parameters_to_host(gradients, 0, n));
    }
    return result;
  }

  backend::Context context;
  config::ModelSettings model;
  Parameters parameters;
  backend::Arena<T> weights;
  backend::Arena<T> gradients;
  backend::Tensor<double> scale;  // of the losses
};

double total(const std::vector<double>& losses) {
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum;
}

// Float sums in a different order: 1e-5 of a loss and 1e-4 of a gradient, as docs/numerics.md says.
TEST(Execution, CompiledAgreesWithEagerInFloat32) {
  ModelRun<float> setup(1, 2);
  const HostBatch batch = random_batch(setup.model, 1, 3, 1);
  const Result eager = setup.run({.compile = false}, batch, 3);
  const Result compiled = setup.run({.compile = true}, batch, 3);
  EXPECT_NEAR(total(compiled.losses) / total(eager.losses), 1, 1e-5);
  EXPECT_LT(golden::relative_l2(compiled.gradients[0], eager.gradients[0]), 1e-4);
}

TEST(Execution, CompiledAgreesWithEagerInFloat64) {
  ModelRun<double> setup(1, 2);
  const HostBatch batch = random_batch(setup.model, 1, 3, 1);
  const Result eager = setup.run({.compile = false}, batch, 3);
  const Result compiled = setup.run({.compile = true}, batch, 3);
  EXPECT_LT(golden::relative_l2(compiled.losses, eager.losses), 1e-12);
  EXPECT_LT(golden::relative_l2(compiled.gradients[0], eager.gradients[0]), 1e-12);
}

// bf16 keeps 8 bits: 5% for gradients, as docs/numerics.md says; some difference shows that
// rounding is on.
TEST(Execution, AutocastIsCloseToFloat32InBothExecutions) {
  ModelRun<float> setup(1, 2);
  const HostBatch batch = random_batch(setup.model, 1, 3, 1);
  const Result exact = setup.run({.compile = false}, batch, 3);
  for (const bool compile : {false, true}) {
    const Result rounded = setup.run({.compile = compile, .autocast = true}, batch, 3);
    const double difference = golden::relative_l2(rounded.gradients[0], exact.gradients[0]);
    EXPECT_LT(difference, 0.05);
    EXPECT_GT(difference, 1e-4);
    EXPECT_NEAR(total(rounded.losses) / total(exact.losses), 1, 0.01);
  }
}

// Sums on different sides of a tie differ by 2^-8, and each later rounding passes such differences
// on and adds its own: a relative difference e becomes about sqrt(e * 2^-8). How large that gets in
// each tensor, a run shows whose norm weights (autocast leaves them in float32) and loss weights
// differ in their last place; the other execution may differ by twice as much. A place that only
// one of them rounds changes the tensors after it by 1e-3 or more, the last of them by 1e-4.
TEST(Execution, AutocastRoundsTheSamePlacesInBothExecutions) {
  ModelRun<float> setup(1, 2);
  const tensor::Layout& layout = setup.parameters.layout;
  const HostBatch batch = random_batch(setup.model, 1, 3, 1);
  const double loss_weight = 1.0 / 100;
  const Result eager = setup.run({.compile = false, .autocast = true}, batch, 3, loss_weight);
  const Result compiled = setup.run({.compile = true, .autocast = true}, batch, 3, loss_weight);
  std::vector<double> values = golden::parameters_to_host(setup.weights);
  auto value = values.begin();
  for (const tensor::Slot& slot : layout.slots()) {
    const auto end = value + slot.size();
    if (slot.is_vector) {
      for (int sign = 1; value != end; ++value, sign = -sign) *value *= 1 + sign * 1e-7;
    }
    value = end;
  }
  golden::parameters_from_host(values, setup.weights, 0, 0);
  const Result changed =
      setup.run({.compile = false, .autocast = true}, batch, 3, (1 + 1e-7) * loss_weight);

  EXPECT_LT(golden::relative_l2(compiled.losses, eager.losses), 1e-6);
  size_t first = 0;
  for (const tensor::Slot& slot : layout.slots()) {
    const auto part = [&](const Result& result) {
      const auto begin = result.gradients[0].begin() + first;
      return std::vector<double>(begin, begin + slot.size());
    };
    const double noise = golden::relative_l2(part(changed), part(eager));
    EXPECT_LT(noise, 3e-3) << slot.name;
    EXPECT_LT(golden::relative_l2(part(compiled), part(eager)), 2 * noise) << slot.name;
    first += slot.size();
  }
}

// A plan made for a larger batch gives the same results for a smaller one as a plan made for it.
TEST(Execution, SmallerBatchesUseTheSamePlan) {
  ModelRun<double> setup(1, 1);
  const HostBatch large = random_batch(setup.model, 1, 4, 1);
  const HostBatch small = random_batch(setup.model, 1, 1, 2);
  const auto plan = make_execution<double>(setup.context, setup.model, {.compile = true}, 4,
                                           setup.weights, &setup.gradients);
  const Result before = setup.run(*plan, large);
  const Result one = setup.run(*plan, small);
  const Result after = setup.run(*plan, large);
  const Result alone = setup.run({.compile = true}, small, 1);
  EXPECT_EQ(one.losses, alone.losses);
  EXPECT_EQ(one.gradients, alone.gradients);
  EXPECT_EQ(before.losses, after.losses);
  EXPECT_EQ(before.gradients, after.gradients);
}

// The worker axis: three models in one run give the same bits as each of them alone.
TEST(Execution, WorkersAreIndependent) {
  for (const bool compile : {false, true}) {
    ModelRun<double> packed(3, 2);
    const HostBatch batch = random_batch(packed.model, 3, 2, 1);
    const Result together = packed.run({.compile = compile}, batch, 2);
    const int64_t part = 2 * packed.model.context_length;
    for (int64_t n = 0; n < 3; ++n) {
      ModelRun<double> alone(1, 2);
      golden::parameters_from_host(golden::parameters_to_host(packed.weights, 0, n), alone.weights);
      HostBatch own{2, {}, {}};
      own.inputs.assign(batch.inputs.begin() + n * part, batch.inputs.begin() + (n + 1) * part);
      own.targets.assign(batch.targets.begin() + n * part, batch.targets.begin() + (n + 1) * part);
      const Result one = alone.run({.compile = compile}, own, 2);
      EXPECT_EQ(std::vector<double>(together.losses.begin() + n * part,
                                    together.losses.begin() + (n + 1) * part),
                one.losses);
      EXPECT_EQ(together.gradients[n], one.gradients[0]);
    }
  }
}

TEST(Execution, ARunningPlanAllocatesNothing) {
  ModelRun<float> setup(1, 2);
  const HostBatch batch = random_batch(setup.model, 1, 4, 1);
  const HostBatch ragged = random_batch(setup.model, 1, 3, 2);
  const auto plan =
      make_execution<float>(setup.context, setup.model, {.compile = true, .autocast = true}, 4,
                            setup.weights, &setup.gradients);
  const int64_t made = setup.context.memory().allocations;
  setup.run(*plan, batch);
  setup.run(*plan, ragged);
  plan->run_losses();
  EXPECT_EQ(setup.context.memory().allocations, made);
}

// With long sequences the scores need the most scratch, with many rows the projections, with a
// large vocabulary the head.
TEST(TangentSweep, AllocatesNothingWhileItRuns) {
  struct Shape {
    int64_t positions, sequences, ffn, vocabulary;
  };
  for (const auto& [positions, sequences, ffn, vocabulary] :
       {Shape{150, 3, 48, 97}, Shape{8, 600, 64, 97}, Shape{8, 40, 48, 1500}}) {
    ModelRun<float> setup(1, 2);
    setup.model.context_length = positions;
    setup.model.ffn_width = ffn;
    setup.model.vocab_size = vocabulary;
    const tensor::Layout layout = Parameters(setup.model).layout;
    const backend::Arena<float> weights(setup.context, layout, 1),
        directions(setup.context, layout, 2);
    const HostBatch batch = random_batch(setup.model, 1, sequences, 1);
    TangentSweep<float> sweep(setup.context, setup.model, {.compile = true}, sequences, 2, weights);
    const backend::Tensor<double> forms(setup.context, 2, 1, 1);
    const int64_t made = setup.context.memory().allocations;
    sweep.run_adjoints(sequences, batch.inputs.data(), batch.targets.data(), 1);
    sweep.add_forms(directions, 0, forms);
    EXPECT_EQ(setup.context.memory().allocations, made) << sequences << " sequences";
  }
}

// For each layer a plan keeps the input, query-key-value, attention, the stream after attention,
// gate-up and two inverse norms. Nothing else and no scratch grows with the number of layers.
TEST(Execution, APlanKeepsWhatIsExpensiveToRecompute) {
  const auto bytes = [](int64_t layers) {
    ModelRun<float> setup(1, 1);
    setup.model.layers = layers;
    const backend::Arena<float> weights(setup.context, Parameters(setup.model).layout, 1);
    backend::Arena<float> gradients(setup.context, Parameters(setup.model).layout, 1);
    const int64_t before = setup.context.memory().bytes_now;
    const auto plan = make_execution<float>(setup.context, setup.model, {.compile = true}, 4,
                                            weights, &gradients);
    return setup.context.memory().bytes_now - before;
  };
  const config::ModelSettings model = ModelRun<float>(1, 1).model;
  const int64_t columns = 6 * model.width + 2 * model.ffn_width + 2;
  const int64_t rows = 4 * model.context_length;
  const double layer = static_cast<double>(bytes(5) - bytes(4));
  // Up to the alignment of 7 buffers to 64 bytes.
  EXPECT_NEAR(layer, static_cast<double>(rows * columns) * sizeof(float), 7 * 64);
}

// The adjoint overwrites activations that it has read; the next run computes them again.
TEST(Execution, ASecondRunGivesTheSameResults) {
  ModelRun<float> setup(1, 2);
  const HostBatch batch = random_batch(setup.model, 1, 3, 1);
  const auto plan = make_execution<float>(setup.context, setup.model, {.compile = true}, 3,
                                          setup.weights, &setup.gradients);
  const Result once = setup.run(*plan, batch);
  const Result again = setup.run(*plan, batch);
  EXPECT_EQ(again.losses, once.losses);
  EXPECT_EQ(again.gradients, once.gradients);
}

// The head with and without the gradient is separate code, and the compiler may order the sum over
// the vocabulary differently: a few units in the last place.
TEST(Execution, LossesDoNotDependOnTheGradient) {
  ModelRun<double> setup(1, 2);
  const HostBatch batch = random_batch(setup.model, 1, 3, 1);
  for (const bool compile : {false, true}) {
    const Result both = setup.run({.compile = compile}, batch, 3);
    const auto alone = make_execution<double>(setup.context, setup.model, {.compile = compile}, 3,
                                              setup.weights, nullptr);
    alone->set_batch(3, batch.inputs.data(), batch.targets.data());
    alone->run_losses();
    EXPECT_LT(
        golden::relative_l2(backend::to_host<double>(setup.context, alone->losses()), both.losses),
        1e-15);
    EXPECT_THROW(alone->run_losses_and_gradients(loss_weights(setup.context, 1, 1)), Error);
  }
}

// vHv against second differences of the loss along a direction.
TEST(Execution, CurvatureAgreesWithSecondDifferences) {
  ModelRun<num::Dual<double>> setup(1, 2);
  const HostBatch batch = random_batch(setup.model, 1, 2, 1);
  const RandomStream stream(3, RandomPurpose::kTest);
  std::vector<double> direction(setup.parameters.layout.size());
  for (size_t i = 0; i < direction.size(); ++i) direction[i] = 0.05 * stream.normal(i);
  golden::parameters_from_host(direction, setup.weights, 1);
  const auto plan = make_execution<num::Dual<double>>(setup.context, setup.model, {}, 2,
                                                      setup.weights, &setup.gradients);
  plan->set_batch(2, batch.inputs.data(), batch.targets.data());
  plan->run_losses_and_gradients(loss_weights(setup.context, 1, 0.01));
  const auto product = golden::parameters_to_host(setup.gradients, 1);
  double form = 0;
  for (size_t i = 0; i < direction.size(); ++i) form += direction[i] * product[i];

  ModelRun<double> plain(1, 2);
  const auto base = golden::parameters_to_host(plain.weights);
  const auto loss_at = [&](double step) {
    std::vector<double> moved = base;
    for (size_t i = 0; i < moved.size(); ++i) moved[i] += step * direction[i];
    golden::parameters_from_host(moved, plain.weights);
    return 0.01 * total(plain.run({}, batch, 2).losses);
  };
  // Fourth-order differences: truncation h^4 and rounding 1e-16 / h^2 balance near 1e-8 relative.
  const double h = 5e-3;
  const double second =
      (-loss_at(2 * h) + 16 * loss_at(h) - 30 * loss_at(0) + 16 * loss_at(-h) - loss_at(-2 * h)) /
      (12 * h * h);
  EXPECT_NEAR(form / second, 1, 1e-5);
}

TEST(InitialWeights, FollowTheStatedDistribution) {
  backend::Context context = test_context(2);
  config::ModelSettings model = small_model();
  model.vocab_size = 2000;
  const Parameters parameters(model);
  backend::Arena<float> weights(context, parameters.layout, 2);
  set_initial_weights(context, model, 42, weights);
  EXPECT_EQ(golden::parameters_to_host(weights, 0, 0), golden::parameters_to_host(weights, 0, 1));

  const auto deviation = [&](int slot) {
    const auto host = backend::to_host<float>(context, weights.view(slot).worker_range(0, 1));
    double sum = 0;
    for (const float x : host) sum += static_cast<double>(x) * x;
    return std::sqrt(sum / static_cast<double>(host.size()));
  };
  // The relative error of the deviation of n draws is 1/sqrt(2n), with n = 64,000 and 1,024 to
  // 1,536 here; the tolerance is 4 times that.
  EXPECT_NEAR(deviation(parameters.embedding), 0.02, 0.02 * 4 / std::sqrt(2.0 * 64000));
  EXPECT_NEAR(deviation(parameters.blocks[1].q_proj), 0.02, 0.02 * 4 / std::sqrt(2.0 * 1024));
  EXPECT_NEAR(deviation(parameters.blocks[0].out_proj), 0.01, 0.01 * 4 / std::sqrt(2.0 * 1024));
  EXPECT_NEAR(deviation(parameters.blocks[0].down_proj), 0.01, 0.01 * 4 / std::sqrt(2.0 * 1536));
  EXPECT_EQ(deviation(parameters.norm), 1.0);
}

}  // namespace
}  // namespace saddle::model
