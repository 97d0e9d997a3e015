// The promises of training in bf16 autocast: weights stay float32, and gradients stay close.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "config/load.h"
#include "model/initial_weights.h"
#include "support/difference.h"
#include "support/golden.h"
#include "support/test_context.h"
#include "train/small_run.h"
#include "train/update.h"

namespace saddle::train {
namespace {

config::Settings autocast_settings() {
  config::Settings settings = small_settings("unused");
  settings.model.context_length = 32;
  settings.model.width = 32;
  settings.model.ffn_width = 64;
  settings.runtime.amp = true;
  settings.optimizer.warmup_fraction = 0;
  settings.optimizer.min_lr_ratio = 1;
  return settings;
}

UpdateBatch autocast_batch(const config::ModelSettings& model, uint64_t seed) {
  UpdateBatch batch;
  batch.sequences = 8;
  const std::vector<uint16_t> ids =
      data::random_ids(8 * model.context_length + 1, model.vocab_size, seed);
  batch.inputs.assign(ids.begin(), ids.end() - 1);
  batch.targets.assign(ids.begin() + 1, ids.end());
  return batch;
}

// A hundred updates of 1e-5. Between 1 and 1 - 2^-8 there is no bf16 number: weights of that type
// would not move. Since the products use bf16, and the same batch is used every time, the
// gradients of matrices hardly change, so AdamW moves each weight by the whole rate nearly every
// time. A weight whose gradient changes its sign comes back, and may end exactly where it began: on
// one processor one of them does. So the test checks the farthest distance of each weight.
TEST(Autocast, SmallUpdatesMoveEveryWeight) {
  config::Settings settings = autocast_settings();
  settings.optimizer.lr = 1e-5;
  settings.optimizer.weight_decay = 0;
  settings.optimizer.eps = 1e-30;  // so that small gradients count like large ones
  backend::Context context = test_context(kThreads);
  TrainedModel<float> trained(context, settings, 1);
  // Ones with random signs, so that no two channels are alike; gains are 1.
  std::vector<double> before = golden::parameters_to_host(trained.weights);
  const RandomStream random(3, RandomPurpose::kTest);
  for (size_t i = 0; i < before.size(); ++i) before[i] = random.uniform(i) < 0.5 ? -1 : 1;
  golden::parameters_from_host(before, trained.weights);
  UpdateRunner<float> runner(context, settings, trained);
  const UpdateBatch batch = autocast_batch(settings.model, 1);
  std::vector<double> after;
  std::vector<double> ever(before.size());  // the farthest distance of each weight
  for (int64_t step = 1; step <= 100; ++step) {
    runner.run(batch, {step, step, 1'000'000});
    after = golden::parameters_to_host(trained.weights);
    for (size_t i = 0; i < ever.size(); ++i) {
      ever[i] = std::max(ever[i], std::abs(after[i] - before[i]));
    }
  }
  int64_t still = 0;
  int64_t whole_way = 0;
  double farthest = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    const double moved = std::abs(after[i] - before[i]);
    still += ever[i] == 0 ? 1 : 0;
    whole_way += moved > 0.9e-3 ? 1 : 0;
    farthest = std::max(farthest, or_infinity(moved));
  }
  EXPECT_EQ(still, 0) << "of " << before.size();
  EXPECT_GT(static_cast<double>(whole_way), 0.9 * static_cast<double>(before.size()));
  EXPECT_LT(farthest, 1.1e-3);
}

// The gradient of one batch at the weights of `trained`, with and without autocast.
double error_of_autocast(const config::Settings& settings, backend::Context& context,
                         TrainedModel<float>& trained) {
  const UpdateBatch batch = autocast_batch(settings.model, 1000);
  config::Settings exact = settings;
  exact.runtime.amp = false;
  UpdateRunner<float>(context, exact, trained).accumulate_gradients(batch);
  const std::vector<double> expected = golden::parameters_to_host(trained.gradients);
  UpdateRunner<float>(context, settings, trained).accumulate_gradients(batch);
  return golden::relative_l2(golden::parameters_to_host(trained.gradients), expected);
}

// A rounding to bf16 has an error of up to 2^-9 = 0.2%; there are some tens of them between a
// weight and the loss.
TEST(Autocast, GradientsStayWithinFivePercentOfFloat) {
  config::Settings settings = autocast_settings();
  settings.optimizer.lr = 5e-3;
  for (const bool compile : {true, false}) {
    settings.runtime.compile = compile;
    backend::Context context = test_context(kThreads);
    TrainedModel<float> trained(context, settings, 1);
    model::set_initial_weights<float>(context, settings.model, 7, trained.weights);
    const double first = error_of_autocast(settings, context, trained);
    EXPECT_LT(first, 0.05);
    EXPECT_GT(first, 1e-4) << "autocast does round";
    UpdateRunner<float> runner(context, settings, trained);
    double loss = 0;
    for (int64_t step = 1; step <= 60; ++step) {
      loss =
          runner
              .run(autocast_batch(settings.model, static_cast<uint64_t>(step)), {step, step, 1000})
              .mean_loss();
    }
    EXPECT_LT(loss, std::log(61) - 0.1) << "the model learned the frequencies of the ids";
    EXPECT_LT(error_of_autocast(settings, context, trained), 0.05);
  }
}

// Sequences of 256 different tokens, each followed by one of four of them, so that there is
// something to learn: ln 256 instead of ln 2,048, and then towards ln 4.
UpdateBatch chain(const config::ModelSettings& model, int64_t sequences, uint64_t seed) {
  const RandomStream random(seed, RandomPurpose::kTest);
  const auto follower = [&](int32_t token, int64_t i) {
    const auto choice = static_cast<int64_t>(4 * random.uniform(i));
    return static_cast<int32_t>((token * 5 + 7 + 31 * choice) % 256);
  };
  UpdateBatch batch;
  batch.sequences = sequences;
  auto token = static_cast<int32_t>(seed % 256);
  for (int64_t i = 0; i < sequences * model.context_length; ++i) {
    batch.inputs.push_back(token);
    token = follower(token, i);
    batch.targets.push_back(token);
  }
  return batch;
}

// The mean loss of the last of 200 updates of the quickstart's model, over sequences of 64 tokens.
// The larger rate of the quickstart makes its first updates chaotic: there a rate that is 0.3%
// larger changes the loss after 200 updates by up to 0.9%.
double loss_after_200_updates(config::Settings settings, bool amp) {
  settings.runtime.amp = amp;
  backend::Context context = test_context(kThreads);
  TrainedModel<float> trained(context, settings, 1);
  model::set_initial_weights<float>(context, settings.model, 7, trained.weights);
  UpdateRunner<float> runner(context, settings, trained);
  constexpr int kUpdates = 200, kLast = 20;
  double last = 0;
  for (int64_t step = 1; step <= kUpdates; ++step) {
    const UpdateBatch batch = chain(settings.model, 4, static_cast<uint64_t>(step));
    const double loss = runner.run(batch, {step, step, kUpdates}).mean_loss();
    if (step > kUpdates - kLast) last += loss / kLast;
  }
  return last;
}

TEST(Autocast, TrainsTheQuickstartsModelLikeFloat) {
  if (!tests_the_processor()) GTEST_SKIP() << "the emulated device would take minutes";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "400 updates of a million weights take minutes under a sanitizer";
#endif
  config::Settings settings =
      config::load_settings({SADDLE_SOURCE_DIR "/configs/quickstart.yaml"}, {});
  settings.model.context_length = 64;
  settings.training.micro_batch_size = 4;
  settings.optimizer.lr = 1e-3;
  const double exact = loss_after_200_updates(settings, false);
  EXPECT_LT(exact, 3.0) << "the model learns";
  EXPECT_NEAR(loss_after_200_updates(settings, true) / exact, 1, 0.005);
}

}  // namespace
}  // namespace saddle::train
