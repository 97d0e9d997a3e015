#include "train/run_directory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/clock.h"
#include "base/stop.h"
#include "config/load.h"
#include "support/expect_error.h"
#include "train/small_run.h"

namespace saddle::train {
namespace {

TEST(RunFiles, ContainTheSettingsAndTheEnvironment) {
  const SmallRun run;
  run.train();
  config::Settings read;
  config::apply_yaml(read_file(run.file("resolved.yaml")), "resolved.yaml", read);
  EXPECT_EQ(read, run.settings);
  const Json environment = read_json(run.file("environment.json"));
  EXPECT_EQ(environment.at("threads"), kThreads);
  EXPECT_FALSE(environment.at("build").at("compiler").get<std::string>().empty());
  const Json& libraries = environment.at("libraries");
  EXPECT_THAT(libraries.at("products_float32").get<std::string>(),
              ::testing::MatchesRegex("oneDNN [0-9.]+, float32"));
  EXPECT_THAT(libraries.at("products_float64").get<std::string>(),
              ::testing::MatchesRegex("BLIS [0-9].*, float64"));
  EXPECT_THAT(libraries.at("tokenizer").get<std::string>(),
              ::testing::MatchesRegex("SentencePiece [0-9.]+"));
  EXPECT_FALSE(environment.at("machine").at("processor").get<std::string>().empty());
  EXPECT_TRUE(environment.at("resumed_from").is_null());
  EXPECT_EQ(environment.at("started_in"), std::filesystem::current_path().string());
  const std::string log = read_file(run.file("run.log"));
  EXPECT_THAT(log, ::testing::HasSubstr("first update begins"));
  EXPECT_THAT(log, ::testing::HasSubstr("wrote final.state.safetensors"));
}

TEST(RunFiles, MetricsHaveALineForEachUpdateAndEvaluation) {
  const SmallRun run;
  const Stopwatch watch;
  run.train();
  const double duration = watch.seconds();
  double last_seconds = 0;
  int64_t step = 0;
  int64_t epoch = 0;
  for (const Json& line : read_lines(run.file("metrics.jsonl"))) {
    if (line.at("type") == "train") {
      EXPECT_EQ(line.at("step"), ++step);
      EXPECT_EQ(line.at("epoch"), (step - 1) / 4 + 1);  // four updates per epoch
      const int64_t inside = (step - 1) % 4 + 1;
      EXPECT_EQ(line.at("tokens"), ((step - 1) / 4 * 27 + (inside == 4 ? 27 : 8 * inside)) * 8);
      for (const char* field : {"loss", "grad_norm", "lr", "tokens_per_second",
                                "elapsed_tokens_per_second", "seconds"}) {
        EXPECT_GT(line.at(field).get<double>(), 0) << field;
      }
      const double seconds = line.at("seconds");
      EXPECT_DOUBLE_EQ(line.at("elapsed_tokens_per_second").get<double>(),
                       line.at("tokens").get<double>() / seconds);
      EXPECT_GT(seconds, last_seconds);
      last_seconds = seconds;
    } else if (line.at("type") == "evaluation") {
      EXPECT_EQ(line.at("epoch"), ++epoch);
      EXPECT_EQ(line.at("step"), step);
      EXPECT_EQ(line.at("targets"), 80);
    } else {
      EXPECT_EQ(line.at("type"), "validation");
      EXPECT_EQ(line.at("targets"), 195);
    }
  }
  EXPECT_EQ(step, 40);
  EXPECT_EQ(epoch, 10);
  EXPECT_LT(last_seconds, duration);
}

TEST(RunFiles, MetricsEveryFewUpdatesAndAtTheEnd) {
  SmallRun run;
  run.settings.training.log_every = 12;
  run.train();
  std::vector<int64_t> steps;
  double tokens = 0, seconds = 0;
  for (const Json& line : read_lines(run.file("metrics.jsonl"))) {
    if (line.at("type") != "train") continue;
    steps.push_back(line.at("step").get<int64_t>());
    // The rate is that of the updates since the line before.
    seconds +=
        (line.at("tokens").get<double>() - tokens) / line.at("tokens_per_second").get<double>();
    tokens = line.at("tokens");
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{12, 24, 36, 40}));
  const double training = read_json(run.file("result.json")).at("seconds").at("training");
  EXPECT_NEAR(seconds / training, 1, 1e-9);
}

TEST(RunFiles, TheResultAndTheBestEvaluation) {
  const SmallRun run;
  const Stopwatch watch;
  const TrainOutcome outcome = run.train();
  const double duration = watch.seconds();
  const Json result = read_json(run.file("result.json"));
  const Json best = read_json(run.file("best.json"));
  double lowest = 1e9;
  for (const Json& line : read_lines(run.file("metrics.jsonl"))) {
    if (line.at("type") == "evaluation") lowest = std::min(lowest, line.at("loss").get<double>());
  }
  EXPECT_EQ(best.at("loss"), lowest);
  EXPECT_EQ(result.at("best"), best);
  EXPECT_EQ(result.at("step"), 40);
  EXPECT_EQ(result.at("tokens"), 270 * 8);
  EXPECT_EQ(result.at("parameters"), config::parameter_count(run.settings.model));
  EXPECT_EQ(result.at("validation").at("loss"), outcome.validation->loss);
  EXPECT_EQ(result.at("train_loss"), *outcome.state.train_loss);
  const Json& seconds = result.at("seconds");
  for (const char* part : {"startup", "training", "evaluation", "checkpoints", "first_update"}) {
    EXPECT_GT(seconds.at(part).get<double>(), 0) << part;
  }
  const double training = seconds.at("training");
  const double elapsed =
      training + seconds.at("evaluation").get<double>() + seconds.at("checkpoints").get<double>();
  EXPECT_DOUBLE_EQ(result.at("tokens_per_second").get<double>(), 270 * 8 / training);
  EXPECT_DOUBLE_EQ(result.at("elapsed_tokens_per_second").get<double>(), 270 * 8 / elapsed);
  EXPECT_LT(seconds.at("startup").get<double>() + elapsed, duration);
  // A run that learns: random ids are not uniform, and the loss begins near log(61) = 4.11.
  const auto lines = read_lines(run.file("metrics.jsonl"));
  EXPECT_NEAR(lines.front().at("loss").get<double>(), std::log(61), 0.1);
  EXPECT_LT(outcome.validation->loss, 4.0);
}

// A rate that grows until the end: the model learns at first, and the last evaluation is worse.
TEST(RunFiles, TheBestEvaluationNeedNotBeTheLast) {
  SmallRun run;
  run.settings.optimizer.lr = 1;
  run.settings.optimizer.warmup_fraction = 1;
  run.train();
  std::vector<Json> evaluations;
  for (const Json& line : read_lines(run.file("metrics.jsonl"))) {
    if (line.at("type") == "evaluation") evaluations.push_back(line);
  }
  const auto best = std::ranges::min_element(
      evaluations, {}, [](const Json& line) { return line.at("loss").get<double>(); });
  ASSERT_LT(best->at("loss"), evaluations.back().at("loss"));
  const Json result = read_json(run.file("result.json"));
  EXPECT_EQ(result.at("best").at("step"), best->at("step"));
  EXPECT_EQ(result.at("best").at("loss"), best->at("loss"));
  EXPECT_EQ(result.at("last").at("loss"), evaluations.back().at("loss"));
  EXPECT_EQ(read_json(run.file("best.json")), result.at("best"));
}

TEST(RunDirectory, AUsedOneIsRefused) {
  SmallRun run;
  run.train();
  const std::string metrics = read_file(run.file("metrics.jsonl"));
  expect_error(ErrorKind::kConfig,
               {run.settings.runtime.output_dir, "already contains", "--resume"},
               [&] { run.train(); });
  EXPECT_EQ(read_file(run.file("metrics.jsonl")), metrics);
}

TEST(RunDirectory, OneInUseIsRefused) {
  const SmallRun run;
  const RunDirectory other(run.settings.runtime.output_dir);
  expect_error(ErrorKind::kIo, {run.settings.runtime.output_dir, "locked by process"},
               [&] { run.train(); });
}

TEST(RunDirectory, OneThatCannotBeWrittenIsRefusedBeforeAnyWork) {
  SmallRun run;
  write_file_atomically(run.directory / "file", "x");
  run.settings.runtime.output_dir = (run.directory / "file" / "run").string();
  run.settings.data.cache = "nowhere";  // not even opened
  expect_error(ErrorKind::kIo, {run.settings.runtime.output_dir}, [&] { run.train(); });
}

TEST(RunDirectory, AFailedStartLeavesItFree) {
  SmallRun run;
  run.settings.training.max_tokens = 271 * 8;
  expect_error(ErrorKind::kData, {"cache", "too small", "2169", "2161"}, [&] { run.train(); });
  run.settings.model.vocab_size = 60;
  expect_error(ErrorKind::kConfig, {"model.vocab_size is 60", "61"}, [&] { run.train(); });
  run.settings = small_settings(run.directory.path());
  EXPECT_TRUE(run.train().completed);
}

TEST(Training, IdsOutsideTheVocabularyAreRefused) {
  SmallRun run;
  std::vector<uint16_t> ids = data::random_ids(270 * 8 + 1, 61, 1);
  ids[1000] = 61;
  run.settings.data.cache = (run.directory / "bad").string();
  data::write_token_cache(run.settings.data.cache, ids, data::random_ids(24 * 8 + 4, 61, 2), 61);
  expect_error(ErrorKind::kData, {"train-00000.bin", "id 61", "offset 2000"}, [&] { run.train(); });
}

TEST(Training, TwoRunsHaveTheSameBits) {
  SmallRun one;
  SmallRun two;
  one.settings.runtime.threads = two.settings.runtime.threads = kManyThreads;
  one.train();
  two.train();
  EXPECT_EQ(numbers_of(one.file("metrics.jsonl")), numbers_of(two.file("metrics.jsonl")));
  EXPECT_EQ(tensor_bytes(one.file("final.state.safetensors")),
            tensor_bytes(two.file("final.state.safetensors")));
}

TEST(Training, BothExecutionsLearnTheSame) {
  SmallRun compiled;
  SmallRun reference;
  compiled.settings.runtime.dtype = config::Precision::kFloat64;
  reference.settings.runtime.dtype = config::Precision::kFloat64;
  reference.settings.runtime.compile = false;
  // 40 updates in double; AdamW divides by the roots of small second moments.
  EXPECT_NEAR(compiled.train().validation->loss, reference.train().validation->loss, 1e-9);
}

}  // namespace
}  // namespace saddle::train
