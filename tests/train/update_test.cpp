#include "train/update.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "backend/gemm_choices.h"
#include "base/ignored_target.h"
#include "support/expect_error.h"
#include "support/golden.h"
#include "support/test_context.h"
#include "train/updater.h"

namespace saddle::train {
namespace {

template <class T>
std::vector<double> gradient(int64_t micro_batch_size, bool compile, double& loss) {
  const config::Settings settings = update_settings(micro_batch_size, compile);
  Updater<T> updater(settings, 1);
  const UpdateResult result =
      updater.runner->accumulate_gradients(random_batch(1, 40, settings.model));
  loss = result.losses.at(0);
  return golden::parameters_to_host<T>(updater.trained.gradients);
}

// 40 sequences: microbatches of 8 are whole, of 32 the last one has 8, of 7 it has 5.
template <class T>
void compare_microbatches(bool compile, double tolerance) {
  double whole_loss = 0;
  const std::vector<double> whole = gradient<T>(40, compile, whole_loss);
  for (const int64_t size : {8, 32, 7}) {
    double loss = 0;
    const std::vector<double> parts = gradient<T>(size, compile, loss);
    EXPECT_NEAR(loss, whole_loss, tolerance * whole_loss) << size;
    EXPECT_LT(golden::relative_l2(parts, whole), tolerance) << size;
  }
}

// The split changes only the order of sums: about a hundred roundings at most.
TEST(UpdateRunner, MicrobatchesDoNotChangeTheGradientInDouble) {
  compare_microbatches<double>(true, 1e-13);
  compare_microbatches<double>(false, 1e-13);
}
TEST(UpdateRunner, MicrobatchesDoNotChangeTheGradientInFloat) {
  compare_microbatches<float>(true, 2e-6);
  compare_microbatches<float>(false, 2e-6);
}

TEST(UpdateRunner, CountsValidTargets) {
  const config::Settings settings = update_settings(4, true);
  Updater<double> updater(settings, 1);
  const UpdateBatch batch = random_batch(1, 10, settings.model);
  const int64_t ignored = std::count(batch.targets.begin(), batch.targets.end(), -100);
  ASSERT_GT(ignored, 0);
  EXPECT_EQ(updater.runner->accumulate_gradients(batch).targets, 80 - ignored);

  UpdateBatch empty = batch;
  std::ranges::fill(empty.targets, kIgnoredTarget);
  expect_error(ErrorKind::kData, {"no target"},
               [&] { updater.runner->accumulate_gradients(empty); });
}

// Relative errors: loss, norm of the gradient, weights (L2) and their change (L2).
struct UpdateTolerances {
  double loss, norm, weights, change;
};

// One whole update against reference values in float64: loss, norm, clipping, AdamW.
template <class T>
void compare_with_golden(const char* name, bool compile, const UpdateTolerances& tolerances) {
  const golden::Case golden = golden::load(name);
  config::Settings settings;
  settings.model = golden.model;
  settings.runtime.compile = compile;
  settings.training.micro_batch_size = 2;
  settings.optimizer.warmup_fraction = 0;  // at the first of very many tokens the rate is the peak
  backend::Context context = test_context(kThreads);
  TrainedModel<T> trained(context, settings, 1);
  golden::load_weights(golden, context, trained.weights);
  std::vector<double> before = golden::parameters_to_host(trained.weights);
  UpdateRunner<T> runner(context, settings, trained);
  const UpdateBatch batch{golden.sequences, golden.inputs, golden.targets};
  const UpdateResult result = runner.run(batch, {1, 0, 1'000'000});

  EXPECT_NEAR(result.losses[0] / golden.scalars["loss_mean"].get<double>(), 1, tolerances.loss);
  EXPECT_NEAR(result.grad_norms[0] / golden.scalars["gradient_norm"].get<double>(), 1,
              tolerances.norm);
  EXPECT_EQ(result.lr, 1e-3);
  EXPECT_EQ(result.targets, golden.valid_targets());
  std::vector<double> expected = golden::expected_parameters(golden, "adamw.");
  std::vector<double> found = golden::parameters_to_host(trained.weights);
  EXPECT_LT(golden::relative_l2(found, expected), tolerances.weights);
  for (size_t i = 0; i < before.size(); ++i) {
    found[i] -= before[i];
    expected[i] -= before[i];
  }
  EXPECT_LT(golden::relative_l2(found, expected), tolerances.change);
}

// In float the loss and the gradient agree as in the tests of the model. The first change of a
// weight, g / (|g| + eps), is 1e-3 of 1 whatever its gradient. For a gain of 1 the rounding of the
// weight, 6e-8, is therefore 6e-5 of its change (3e-5 was seen over all weights).
TEST(UpdateRunner, AgreesWithReferenceValues) {
  for (const char* name : {"tiny", "oneblock"}) {
    for (const bool compile : {true, false}) {
      SCOPED_TRACE(name);
      compare_with_golden<double>(name, compile, {1e-10, 1e-10, 1e-10, 1e-10});
      compare_with_golden<float>(name, compile, {1e-5, 1e-4, 1e-6, 1e-4});
    }
  }
}

TEST(UpdateRunner, StopsBeforeAnyChangeWhenANumberIsNotFinite) {
  const config::Settings settings = update_settings(4, true);
  Updater<float> updater(settings, 3);
  const UpdateBatch batch = random_batch(3, 8, settings.model);
  updater.runner->run(batch, {1, 64, 1000});
  plant(updater.trained.weights, "norm.weight", 1, -std::numeric_limits<float>::quiet_NaN());
  const auto before = memory_of(updater.trained);
  expect_error(ErrorKind::kNumeric,
               {"loss of worker 1 is nan", "update 2", "128 tokens", "before the weights"}, [&] {
                 updater.runner->run(batch, {2, 128, 1000});
               });
  EXPECT_TRUE(same_bits(before, memory_of(updater.trained)));
}

// Tuning chooses among ways that differ only in rounding, and does not affect the gradient.
// After the first update nothing is allocated, and the host waits for the device only once, at the
// end; the tokens and what steers the update are all that is copied to it.
TEST(UpdateRunner, WaitsOnceAndAllocatesNothing) {
  for (const int64_t workers : {1, 3}) {
    config::Settings settings = update_settings(2, true);
    settings.decentralized.num_models = workers;
    Updater<float> updater(settings, workers);
    const UpdateBatch batch = random_batch(workers, 6, settings.model);  // three microbatches
    updater.runner->run(batch, {1, 500, 1000});
    const int64_t made = updater.context.memory().allocations;
    const backend::DeviceCounters before = updater.context.counters();
    updater.runner->run(batch, {2, 1000, 1000});
    const backend::DeviceCounters work = updater.context.counters() - before;
    EXPECT_EQ(updater.context.memory().allocations, made);
    EXPECT_EQ(work.host_reads, 1);
    EXPECT_EQ(work.bytes_to_host, workers * 4 * 8);
    // Inputs and targets; weights of losses, once for the update; the matrix.
    const int64_t matrix = workers > 1 ? workers * workers * 8 : 0;
    EXPECT_EQ(work.bytes_to_device,
              2 * 4 * static_cast<int64_t>(batch.inputs.size()) + workers * 8 + matrix);
    EXPECT_GT(work.launches, 0);
    EXPECT_GT(work.products, 0);
  }
}

TEST(UpdateRunner, TuningKeepsTheGradient) {
  if (!tests_the_processor()) GTEST_SKIP() << "only the processor chooses";
  if (kManyThreads == 1) GTEST_SKIP() << "with one thread there is nothing to choose";
  const config::Settings settings = update_settings(8, true);
  Updater<float> tuned(settings, 1, kManyThreads);
  Updater<float> plain(settings, 1, kManyThreads);
  const TuningResult result = tuned.runner->tune_products();
  EXPECT_GT(result.shapes, 10) << "projections, attention and head, forward and backward";
  EXPECT_EQ(result.by_library + result.by_rows + result.by_columns, result.shapes);
  EXPECT_FALSE(backend::gemm_choices(tuned.context)->tuning()) << "a run does not choose again";
  const UpdateBatch batch = random_batch(1, 24, settings.model);
  tuned.runner->accumulate_gradients(batch);
  plain.runner->accumulate_gradients(batch);
  EXPECT_LT(golden::relative_l2(golden::parameters_to_host<float>(tuned.trained.gradients),
                                golden::parameters_to_host<float>(plain.trained.gradients)),
            1e-5);
}

// Products of several workers are tuned as one batch.
TEST(UpdateRunner, TuningOfSeveralWorkers) {
  if (!tests_the_processor()) GTEST_SKIP() << "only the processor chooses";
  if (kManyThreads == 1) GTEST_SKIP() << "with one thread there is nothing to choose";
  const config::Settings settings = update_settings(2, true);
  Updater<float> updater(settings, 4, kManyThreads);
  const TuningResult result = updater.runner->tune_products();
  EXPECT_EQ(result.by_library + result.by_rows + result.by_columns + result.by_products,
            result.shapes);
  const UpdateBatch batch = random_batch(4, 2, settings.model);
  Updater<float> plain(settings, 4);
  updater.runner->accumulate_gradients(batch);
  plain.runner->accumulate_gradients(batch);
  for (int64_t n = 0; n < 4; ++n) {
    EXPECT_LT(golden::relative_l2(golden::parameters_to_host(updater.trained.gradients, 0, n),
                                  golden::parameters_to_host(plain.trained.gradients, 0, n)),
              1e-5);
  }
}

TEST(UpdateRunner, TuningDoesNothingWithOneThread) {
  Updater<float> updater(update_settings(8, true), 1, 1);
  EXPECT_EQ(updater.runner->tune_products().shapes, 0);
}

// Every worker gets, bit for bit, the update that it would get alone.
TEST(UpdateRunner, WorkersDoNotMix) {
  const config::Settings settings = update_settings(4, true);
  const UpdateBatch batch = random_batch(3, 8, settings.model);
  Updater<double> together(settings, 3);
  plant(together.trained.weights, "norm.weight", 1, 1.5);
  const UpdateResult result = together.runner->run(batch, {1, 64, 1000});
  ASSERT_EQ(result.losses.size(), 3U);
  for (size_t n = 0; n < 3; ++n) {
    Updater<double> alone(settings, 1);
    if (n == 1) plant(alone.trained.weights, "norm.weight", 0, 1.5);
    const auto worker = static_cast<int64_t>(n);
    const UpdateBatch own = batch_of(batch, worker, settings.model.context_length);
    const UpdateResult expected = alone.runner->run(own, {1, 64, 1000});
    EXPECT_EQ(result.losses[n], expected.losses[0]);
    EXPECT_EQ(result.grad_norms[n], expected.grad_norms[0]);
    EXPECT_EQ(golden::parameters_to_host(together.trained.weights, 0, worker),
              golden::parameters_to_host(alone.trained.weights));
  }
}

TEST(ReadBatch, GivesEveryNthBlockToAWorker) {
  const SmallRun run;
  const data::TokenCache cache(run.settings.data.cache);
  const data::LoaderOptions options{.context_length = 8, .total_blocks = 270, .prefetch = false};
  data::TrainingLoader one(cache, options);
  data::TrainingLoader three(cache, options);
  UpdateBatch plain;
  UpdateBatch divided;
  read_batch(one, 12, 1, 8, plain);
  read_batch(three, 12, 3, 8, divided);
  EXPECT_EQ(plain.sequences, 12);
  EXPECT_EQ(divided.sequences, 4);
  for (int64_t block = 0; block < 12; ++block) {
    const int64_t row = block % 3 * 4 + block / 3;
    for (int64_t t = 0; t < 8; ++t) {
      const auto from = static_cast<size_t>(block * 8 + t);
      const auto to = static_cast<size_t>(row * 8 + t);
      EXPECT_EQ(divided.inputs[to], plain.inputs[from]);
      EXPECT_EQ(divided.targets[to], plain.targets[from]);
    }
  }
  expect_error(ErrorKind::kInternal, {"10 blocks", "3 workers"},
               [&] { read_batch(three, 10, 3, 8, divided); });
}

}  // namespace
}  // namespace saddle::train
