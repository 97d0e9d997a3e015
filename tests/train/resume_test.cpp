#include "train/resume.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/clock.h"
#include "model/weights_file.h"
#include "support/expect_error.h"
#include "support/test_context.h"
#include "train/checkpoints.h"
#include "train/run_pieces.h"

namespace saddle::train {
namespace {

using config::CheckpointPolicy;

// 40 updates, cut inside an epoch, at an epoch's end (which the next piece then evaluates), inside
// another epoch, and after the last update.
const std::vector<int64_t> kStops = {6, 12, 13, 40};

TEST(Resume, InPiecesIsBitForBitTheSameInFloat) {
  compare_pieces([](config::Settings&) {}, kStops);
}
TEST(Resume, InPiecesIsBitForBitTheSameInDouble) {
  compare_pieces([](config::Settings& s) { s.runtime.dtype = config::Precision::kFloat64; },
                 kStops);
}
TEST(Resume, InPiecesIsBitForBitTheSameInBfloat16) {
  compare_pieces([](config::Settings& s) { s.runtime.amp = true; }, kStops);
}
TEST(Resume, InPiecesIsBitForBitTheSameOperationByOperation) {
  compare_pieces([](config::Settings& s) { s.runtime.compile = false; }, kStops);
}

// Six updates of a wider model on sequences over two blocks of queries (ops/attention.h), so that
// products and attention are shared among threads.
void wider(config::Settings& settings) {
  settings.model.context_length = 160;
  settings.model.width = 96;
  settings.model.heads = 3;
  settings.model.ffn_width = 160;
  settings.training.max_tokens = 12 * 160;
  settings.training.epoch_tokens = 6 * 160;
  settings.training.batch_tokens = 2 * 160;
  settings.training.micro_batch_size = 1;
  settings.evaluation.subset_blocks = 1;
  settings.runtime.threads = kManyThreads;
}

TEST(Resume, InPiecesIsBitForBitTheSameWithLongSequencesOnManyThreads) {
  compare_pieces(wider, {2, 3, 6});
}
TEST(Resume, InPiecesIsBitForBitTheSameWithLongSequencesInBfloat16) {
  const auto configure = [](config::Settings& settings) {
    wider(settings);
    settings.runtime.amp = true;
  };
  compare_pieces(configure, {2, 3, 6});
}

// From every state that a run kept: epochs, the rolling state and the end.
TEST(Resume, FromEveryStateOfARun) {
  SmallRun reference;
  reference.settings.training.max_tokens = 3 * 27 * 8;
  reference.settings.training.checkpoint_policy = CheckpointPolicy::kAll;
  reference.settings.training.checkpoint_every = 5;
  reference.train();
  for (const char* name : {"epoch-001", "epoch-002", "epoch-003", "latest", "final"}) {
    SmallRun run;
    run.settings.training = reference.settings.training;
    const std::string state = reference.file(name + std::string(kStateSuffix));
    const TrainOutcome outcome = run.train(resume_from(state));
    EXPECT_TRUE(outcome.completed);
    EXPECT_EQ(tensor_bytes(run.file("final.state.safetensors")),
              tensor_bytes(reference.file("final.state.safetensors")))
        << name;
    EXPECT_EQ(outcome.validation->loss,
              read_json(reference.file("result.json")).at("validation").at("loss").get<double>());
    EXPECT_EQ(read_json(run.file("best.json")).at("loss"),
              read_json(reference.file("best.json")).at("loss"));
  }
}

TEST(Resume, OfAFinishedRunGivesTheSameResult) {
  SmallRun run;
  run.train();
  const auto metrics = numbers_of(run.file("metrics.jsonl"));
  const auto state = tensor_bytes(run.file("final.state.safetensors"));
  const Json validation = read_json(run.file("result.json")).at("validation").at("loss");
  for (int again = 0; again < 2; ++again) {
    EXPECT_TRUE(run.train(resume_from("auto")).completed);
    EXPECT_EQ(numbers_of(run.file("metrics.jsonl")), metrics);
    EXPECT_EQ(tensor_bytes(run.file("final.state.safetensors")), state);
    EXPECT_EQ(read_json(run.file("result.json")).at("validation").at("loss"), validation);
  }
}

// From an older state: later lines of the metrics are removed, and no step appears twice.
TEST(Resume, FromAnOlderStateOfTheSameRun) {
  SmallRun run;
  run.settings.training.checkpoint_policy = CheckpointPolicy::kInterval;
  run.settings.training.checkpoint_epochs = {4};
  run.train();
  const auto metrics = numbers_of(run.file("metrics.jsonl"));
  ASSERT_EQ(metrics.size(), 40U + 10U + 1U);
  run.train(resume_from(run.file("epoch-004.state.safetensors")));
  EXPECT_EQ(numbers_of(run.file("metrics.jsonl")), metrics);
}

// After resuming an older state, the later states are kept under other names and never resumed.
TEST(Resume, AutoSkipsTheStatesThatARunGaveUp) {
  SmallRun run;
  run.settings.training.checkpoint_policy = CheckpointPolicy::kInterval;
  run.settings.training.checkpoint_epochs = {4};
  run.train();
  const auto metrics = numbers_of(run.file("metrics.jsonl"));
  const std::string given_up = read_file(run.file("final.state.safetensors"));
  const std::string older = run.file("epoch-004.state.safetensors");
  for (const char* kept : {".superseded", ".superseded-2"}) {
    run.train(stop_after(run, 20, older));
    EXPECT_FALSE(std::filesystem::exists(run.file("final.state.safetensors")));
    const Path name = run.file(std::string("final.state.safetensors") + kept);
    EXPECT_EQ(tensor_bytes(name).size(), tensor_bytes(older).size());
    const TrainOutcome outcome = run.train(resume_from("auto"));
    EXPECT_TRUE(outcome.completed);
    EXPECT_THAT(read_file(run.file("run.log")),
                ::testing::HasSubstr("latest.state.safetensors: 20 updates"));
    EXPECT_EQ(numbers_of(run.file("metrics.jsonl")), metrics);
  }
  EXPECT_EQ(read_file(run.file("final.state.safetensors.superseded")), given_up);
  EXPECT_TRUE(std::filesystem::exists(older));
  EXPECT_TRUE(std::filesystem::exists(run.file("epoch-008.state.safetensors.superseded")));
}

TEST(Resume, WithOtherExecutionSettings) {
  SmallRun run;
  SmallRun reference;
  run.settings.runtime.dtype = reference.settings.runtime.dtype = config::Precision::kFloat64;
  run.train(stop_after(run, 10));
  const double expected = reference.train().validation->loss;
  // Device, place, threads, prefetch, retention and execution may change.
  run.settings.runtime.compile = false;
  run.settings.runtime.threads = kManyThreads;
  run.settings.data.prefetch = false;
  run.settings.evaluation.batch_size = 7;
  run.settings.training.log_every = 3;
  run.settings.training.checkpoint_policy = CheckpointPolicy::kAll;
  const TrainOutcome outcome = run.train(resume_from("auto"));
  ASSERT_TRUE(outcome.completed);
  // A different order of sums in 30 updates in float64.
  EXPECT_NEAR(outcome.validation->loss, expected, 1e-10 * expected);
}

TEST(Resume, RefusesAnotherRecipeAndNamesTheFields) {
  SmallRun run;
  run.train(stop_after(run, 10));
  const auto before = tensor_bytes(run.file("latest.state.safetensors"));
  const std::string metrics = read_file(run.file("metrics.jsonl"));
  run.settings.optimizer.beta2 = 0.99;
  run.settings.model.layers = 3;
  expect_error(ErrorKind::kConfig,
               {"latest.state.safetensors", "model.layers (expected 3, found 2)",
                "optimizer.beta2 (expected 0.99, found 0.95)"},
               [&] { run.train(resume_from("auto")); });
  // Another cache of the same size.
  run.settings = small_settings(run.directory.path());
  run.settings.data.cache = (run.directory / "other").string();
  data::write_token_cache(run.settings.data.cache, data::random_ids(270 * 8 + 1, 61, 3),
                          data::random_ids(24 * 8 + 4, 61, 4), 61);
  expect_error(ErrorKind::kConfig, {"data.identity"}, [&] { run.train(resume_from("auto")); });
  EXPECT_EQ(tensor_bytes(run.file("latest.state.safetensors")), before);
  EXPECT_EQ(read_file(run.file("metrics.jsonl")), metrics);
}

// Truncates a state to half its length.
void truncate(const Path& path) {
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
}

TEST(Resume, AutoSkipsDamagedStates) {
  SmallRun run;
  run.settings.training.checkpoint_policy = CheckpointPolicy::kAll;
  run.settings.training.checkpoint_every = 1000;
  run.train(stop_after(run, 10));
  truncate(run.file("latest.state.safetensors"));
  expect_error(ErrorKind::kData, {"latest.state.safetensors"},
               [&] { run.train(resume_from(run.file("latest.state.safetensors"))); });
  EXPECT_TRUE(run.train(resume_from("auto")).completed);
  const std::string log = read_file(run.file("run.log"));
  EXPECT_THAT(log, ::testing::HasSubstr("damaged state: " + run.file("latest.state").string()));
  EXPECT_THAT(log, ::testing::HasSubstr("epoch-002.state.safetensors: 8 updates"));
  SmallRun reference;
  reference.settings.training = run.settings.training;
  reference.train();
  expect_same_run(run, reference);
}

TEST(Resume, AutoRefusesWhenEveryStateIsDamaged) {
  SmallRun run;
  run.train(stop_after(run, 10));
  truncate(run.file("latest.state.safetensors"));
  expect_error(ErrorKind::kData, {"every state", "latest.state.safetensors"},
               [&] { run.train(resume_from("auto")); });
}

TEST(Resume, AutoBeginsARunIfThereIsNone) {
  const SmallRun run;
  const SmallRun reference;
  EXPECT_TRUE(run.train(resume_from("auto")).completed);
  reference.train();
  expect_same_run(run, reference);
}

TEST(Resume, AutoSaysThatARunStartsFromTheBeginning) {
  const SmallRun run;
  run.train(resume_from("auto"));
  EXPECT_NE(read_file(run.file("run.log"))
                .find("'" + run.settings.runtime.output_dir +
                      "' contains no state to resume from: the run starts from the beginning"),
            std::string::npos);
  const SmallRun without;
  without.train();
  EXPECT_EQ(read_file(without.file("run.log")).find("from the beginning"), std::string::npos);
}

TEST(Resume, AutoRefusesARunWithoutStates) {
  SmallRun run;
  run.settings.training.checkpoint_policy = CheckpointPolicy::kNone;
  const TrainOutcome outcome = run.train(stop_after(run, 5));
  EXPECT_FALSE(outcome.completed);
  EXPECT_FALSE(std::filesystem::exists(run.file("latest.state.safetensors")));
  expect_error(ErrorKind::kConfig, {run.settings.runtime.output_dir, "no state"},
               [&] { run.train(resume_from("auto")); });
}

TEST(Resume, OfARunKilledWhileWritingALine) {
  SmallRun run;
  run.train(stop_after(run, 10));
  const std::string whole = read_file(run.file("metrics.jsonl"));
  write_file_atomically(run.file("metrics.jsonl"),
                        whole + R"({"type": "train", "step": 11, "loss": null})" + "\n" +
                            R"({"type": "train", "step": 1)");
  const SmallRun reference;
  reference.train();
  run.train(resume_from("auto"));
  expect_same_run(run, reference);
}

// Each part of the time is added to that of the earlier pieces; the first update is the piece's
// own.
TEST(Resume, SumsTheSecondsOfItsPieces) {
  const SmallRun run;
  run.train(stop_after(run, 6));
  const Path path = run.file("latest.state.safetensors");
  {
    const StateFile file(path);
    backend::Context context(1);
    TrainedModel<float> trained(context, run.settings, 1);
    file.load<float>(trained);
    RunState state = file.state();
    state.seconds = {.startup = 1000,
                     .training = 2000,
                     .evaluation = 3000,
                     .checkpoints = 4000,
                     .first_update = 5000};
    const data::TokenCache cache(run.settings.data.cache);
    save_state<float>(path, state, run_recipe(run.settings, cache.identity(), 1), trained);
  }
  const Stopwatch watch;
  const RunSeconds seconds = run.train(resume_from("auto")).state.seconds;
  const double duration = watch.seconds();
  EXPECT_GT(seconds.startup, 1000);
  EXPECT_GT(seconds.training, 2000);
  EXPECT_GT(seconds.evaluation, 3000);
  EXPECT_GT(seconds.checkpoints, 4000);
  EXPECT_GT(seconds.first_update, 0);
  EXPECT_LT(seconds.first_update, seconds.training - 2000);
  EXPECT_LT(seconds.startup + seconds.elapsed(), 10000 + duration);
}

TEST(Resume, RefusesCountersThatDoNotFit) {
  const SmallRun run;
  const EpochPlan plan(run.settings);
  backend::Context context = test_context(1);
  const TrainedModel<float> trained(context, run.settings, 1);
  const Path path = run.directory / "x.state.safetensors";
  const auto check = [&](int64_t step, int64_t position, int64_t evaluated) {
    RunState state;
    state.step = step;
    state.position = position;
    state.evaluated_epochs = evaluated;
    save_state<float>(path, state, {{"a", 1}}, trained);
    check_counters(StateFile(path), plan);
  };
  check(0, 0, 0);
  check(5, 35, 1);
  check(4, 27, 0);
  check(4, 27, 1);
  check(40, 270, 10);
  for (const auto& [step, position, evaluated] :
       {std::tuple{5, 34, 1}, {6, 35, 1}, {5, 35, 0}, {5, 35, 2}, {41, 278, 10}, {-1, -8, 0}}) {
    expect_error(ErrorKind::kData, {"x.state.safetensors", "counters do not fit"},
                 [&] { check(step, position, evaluated); });
  }
}

// The same path as in training: a state whose weights contain a NaN.
TEST(Training, ANaNStopsTheRunBeforeAnyChange) {
  SmallRun run;
  run.settings.training.checkpoint_policy = CheckpointPolicy::kAll;
  run.train(stop_after(run, 10));
  const Path path = run.file("latest.state.safetensors");
  plant_in_file(path, "norm.weight", std::numeric_limits<float>::quiet_NaN());

  const std::string damaged = read_file(path);
  const std::string epoch = read_file(run.file("epoch-002.state.safetensors"));
  const std::string metrics = read_file(run.file("metrics.jsonl"));
  expect_error(ErrorKind::kNumeric, {"loss is nan", "update 11", "before the weights changed"},
               [&] { run.train(resume_from("auto")); });
  EXPECT_EQ(read_file(path), damaged);
  EXPECT_EQ(read_file(run.file("epoch-002.state.safetensors")), epoch);
  EXPECT_EQ(read_file(run.file("metrics.jsonl")), metrics);
  EXPECT_FALSE(std::filesystem::exists(run.file("final.state.safetensors")));
  // The run continues from the last good checkpoint.
  EXPECT_TRUE(run.train(resume_from(run.file("epoch-002.state.safetensors"))).completed);
}

// One update too large for any model: the evaluation after it ends the run, and nothing is kept as
// if it were good.
TEST(Training, AnEvaluationThatIsNotFiniteStopsTheRunBeforeItIsSaved) {
  SmallRun run;
  run.settings.training.max_tokens = run.settings.training.epoch_tokens = 8 * 8;
  run.settings.training.checkpoint_policy = CheckpointPolicy::kAll;
  run.settings.training.checkpoint_every = 100;
  run.settings.optimizer.lr = 1e38;
  run.settings.optimizer.weight_decay = 0;
  run.settings.optimizer.min_lr_ratio = 1;
  expect_error(ErrorKind::kNumeric, {"loss of the evaluation after 1 updates is"},
               [&] { run.train(); });
  for (const char* name : {"epoch-001.safetensors", "epoch-001.state.safetensors",
                           "final.safetensors", "final.state.safetensors", "best.json"}) {
    EXPECT_FALSE(std::filesystem::exists(run.file(name))) << name;
  }
  EXPECT_THAT(read_file(run.file("run.log")),
              ::testing::HasSubstr("training ended after 1 updates: the loss of the evaluation"));
}

// The weights of the final state can be saved, but their validation loss is not finite.
TEST(Training, AFinalValidationThatIsNotFiniteIsAnError) {
  SmallRun run;
  run.train();
  std::filesystem::remove(run.file("result.json"));
  const Path path = run.file("final.state.safetensors");
  plant_in_file(path, "embedding.weight", 3e38F);
  plant_in_file(path, "norm.weight", 3e38F);
  expect_error(ErrorKind::kNumeric, {"loss of the validation after 40 updates is"},
               [&] { run.train(resume_from("auto")); });
  EXPECT_FALSE(std::filesystem::exists(run.file("result.json")));
  // Weights that cannot be saved are refused at once.
  plant_in_file(path, "norm.weight", std::numeric_limits<float>::infinity());
  const std::string damaged = read_file(path);
  const std::string weights = read_file(run.file("final.safetensors"));
  expect_error(ErrorKind::kNumeric, {"final.safetensors was not written", "norm.weight holds inf"},
               [&] { run.train(resume_from("auto")); });
  EXPECT_EQ(read_file(path), damaged);
  EXPECT_EQ(read_file(run.file("final.safetensors")), weights);
}

TEST(Training, TheLogSaysWhyARunEndedWhateverTheReason) {
  const SmallRun run;
  TrainOptions options;
  options.stop = []() -> int { throw std::runtime_error("no such luck"); };
  EXPECT_THROW(run.train(options), std::runtime_error);
  EXPECT_THAT(read_file(run.file("run.log")),
              ::testing::HasSubstr("training ended after 0 updates: no such luck"));
}

}  // namespace
}  // namespace saddle::train
