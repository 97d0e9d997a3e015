// The equality of both modes, and the output of the commands.
#include "bench/packed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/candidate.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/telemetry.h"
#include "bench/packed_update.h"
#include "support/difference.h"
#include "support/expect_error.h"
#include "support/run_program.h"
#include "support/started_program.h"

namespace saddle::bench {
namespace {

config::Settings small_settings(int64_t workers) {
  config::Settings settings;
  settings.model = {
      .vocab_size = 50, .context_length = 8, .layers = 2, .width = 16, .heads = 2, .ffn_width = 24};
  settings.decentralized.num_models = workers;
  settings.training.micro_batch_size = 2;
  settings.optimizer.lr = 0.01;
  settings.runtime.threads = 2;
  return settings;
}

template <class T>
std::vector<T> weights_after(const config::Settings& settings, PackedMode mode, int64_t steps) {
  backend::Context context(2);
  PackedUpdate<T> update(context, settings, mode);
  for (int64_t step = 1; step <= steps; ++step) update.run(step);
  return backend::to_host<T>(context, update.trained().weights.all());
}

// Two orders of the same sums in float64; after three updates AdamW's quotients carry their
// rounding, far below 1e-12 of weights of order 1.
TEST(PackedUpdate, EqualsWorkersRunOneAfterAnother) {
  for (const int64_t workers : {1, 2, 3}) {
    for (const auto scheme :
         {config::Scheme::kAdaptWhileCombine, config::Scheme::kAdaptThenCombine}) {
      config::Settings settings = small_settings(workers);
      settings.decentralized.scheme = scheme;
      settings.decentralized.topology = config::Topology::kOnePeerRing;
      const auto packed = weights_after<double>(settings, PackedMode::kPacked, 3);
      const auto sequential = weights_after<double>(settings, PackedMode::kSequential, 3);
      EXPECT_LT(largest_difference(packed, sequential), 1e-12) << workers;
      EXPECT_GT(largest_difference(packed, weights_after<double>(settings, PackedMode::kPacked, 2)),
                1e-4);
    }
  }
}

// The parts, run one after another, give the update.
TEST(PackedUpdate, EqualsItsParts) {
  const config::Settings settings = small_settings(3);
  backend::Context context(2);
  PackedUpdate<float> update(context, settings, PackedMode::kPacked);
  update.compute();
  update.clip();
  ASSERT_TRUE(update.mixes_first());
  update.mix(1);
  update.adamw(1);
  EXPECT_EQ(update.losses().size(), 3U);
  EXPECT_EQ(backend::to_host<float>(context, update.trained().weights.all()),
            weights_after<float>(settings, PackedMode::kPacked, 1));
}

TEST(PackedBenchmark, RefusesSettingsThatItCannotCompare) {
  config::Settings settings = small_settings(2);
  expect_error(ErrorKind::kUsage, {"--steps 0"},
               [&] { measure_packed(settings, {.warmup = 0, .steps = 0, .trace = {}}); });
  settings.decentralized.adaptive_consensus.start_frac = 0.5;
  expect_error(ErrorKind::kConfig, {"adaptive_consensus.start_frac", "constant"},
               [&] { measure_packed(settings, {.warmup = 0, .steps = 1, .trace = {}}); });
}

constexpr const char* kSmallWorkers =
    " --set model.vocab_size=50 --set model.context_length=8 --set model.layers=1"
    " --set model.width=16 --set model.heads=2 --set model.ffn_width=24"
    " --set training.micro_batch_size=2 --set runtime.threads=1";

TEST(PackedBenchmark, WritesASummaryATableAndTraces) {
  const TemporaryDirectory directory;
  const ProgramResult result =
      run_saddle(std::string("benchmark-packed --num-models 2 3 --warmup 1 --steps 3 --output ") +
                 (directory / "out").string() + kSmallWorkers);
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_NE(result.output.find("sequential"), std::string::npos);
  EXPECT_NE(result.output.find("speedup"), std::string::npos);
  const Json summary = read_json(Path(directory / "out") / "summary.json");
  ASSERT_EQ(summary["rows"].size(), 4U);
  for (const Json& row : summary["rows"]) {
    ASSERT_FALSE(row.contains("failure")) << row.dump();
    EXPECT_EQ(row["seconds"].size(), 3U);
    EXPECT_EQ(row["losses"].size(), row["num_models"].get<size_t>());
    const double rate = row["num_models"].get<double>() * 2 * 8 / median(row["seconds"]);
    EXPECT_NEAR(row["tokens_per_second"].get<double>() / rate, 1, 1e-12);
    const Json trace =
        read_json(Path(directory / "out") / row["trace"].get<std::string>())["traceEvents"];
    ASSERT_EQ(trace.size(), 3U + 4U * 5U);  // names and order, then the parts of five updates
    for (size_t i = 3; i < trace.size(); ++i) {
      EXPECT_EQ(trace[i]["ph"], "X");
      EXPECT_GE(trace[i]["dur"].get<double>(), 0);
      EXPECT_GE(trace[i]["ts"].get<double>(), 0);
    }
  }
  for (const size_t packed : {1, 3}) {
    EXPECT_TRUE(summary["rows"][packed].contains("speedup"));
    EXPECT_LT(summary["rows"][packed]["loss_difference"].get<double>(), 1e-4);
  }
  EXPECT_NE(result.output.find("range"), std::string::npos);
  EXPECT_TRUE(read_file(directory / "out" / "telemetry.csv").starts_with(kTelemetryHeading));
}

// Before any candidate starts, with the exit codes of wrong settings and wrong usage.
TEST(PackedBenchmark, RefusesThemInTheCommandItself) {
  const TemporaryDirectory directory;
  const std::string command =
      "benchmark-packed --num-models 2 --output " + (directory / "out").string() + kSmallWorkers;
  const ProgramResult adaptive =
      run_saddle(command + " --set decentralized.adaptive_consensus.start_frac=0.5");
  EXPECT_EQ(adaptive.exit_code, 3) << adaptive.output;
  EXPECT_NE(adaptive.errors.find("--set decentralized.adaptive_consensus=null"), std::string::npos)
      << adaptive.errors;
  EXPECT_EQ(run_saddle(command + " --steps 0").exit_code, 2);
  EXPECT_EQ(run_saddle(command + " --warmup -1").exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(Path(directory / "out")));
}

// All numbers of workers are checked before the first one is measured.
TEST(PackedBenchmark, RefusesWrongNumbersOfWorkersBeforeAnyRuns) {
  const TemporaryDirectory directory;
  for (const auto& [numbers, message] : std::vector<std::pair<std::string, std::string>>{
           {"2 0", "--num-models: '0' is not"},
           {"2 1001", "'1001' is not an integer from 1 to 1000"},
           {"2 3 2", "has 2 twice"}}) {
    const ProgramResult result =
        run_saddle("benchmark-packed --num-models " + numbers + " --output " +
                   (directory / "out").string() + kSmallWorkers);
    EXPECT_EQ(result.exit_code, 2) << numbers;
    EXPECT_NE(result.errors.find(message), std::string::npos) << result.errors;
    EXPECT_FALSE(std::filesystem::exists(Path(directory / "out"))) << numbers;
  }
}

// The batch, budget and checkpoints of a training preset fit only its 4 workers and its microbatch;
// the benchmark replaces them for each number of workers.
TEST(PackedBenchmark, AcceptsAPresetForOtherWorkersAndMicrobatches) {
  const TemporaryDirectory directory;
  const Path preset = Path(directory / "preset.yaml");
  write_file_atomically(
      preset,
      "model: {vocab_size: 50, context_length: 8, layers: 1, width: 16, heads: 2, "
      "ffn_width: 24}\n"
      "training: {max_tokens: 2560, epoch_tokens: 640, batch_tokens: 64, "
      "micro_batch_size: 2, checkpoint_policy: explicit, checkpoint_epochs: [2, 4]}\n"
      "decentralized: {num_models: 4}\n"
      "runtime: {threads: 1}\n");
  const ProgramResult result = run_saddle(
      "benchmark-packed --config " + preset.string() +
      " --set training.micro_batch_size=1 --num-models 3 4 --warmup 0 --steps 1 --output " +
      (directory / "out").string());
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const Json summary = read_json(Path(directory / "out") / "summary.json");
  EXPECT_EQ(summary["micro_batch_size"], 1);
  ASSERT_EQ(summary["rows"].size(), 4U);
  for (const Json& row : summary["rows"]) EXPECT_FALSE(row.contains("failure")) << row.dump();
}

// Settings that are wrong for every number of workers are still refused.
TEST(PackedBenchmark, RefusesSettingsThatContradictEachOther) {
  const TemporaryDirectory directory;
  const ProgramResult result =
      run_saddle("benchmark-packed --num-models 2 --output " + (directory / "out").string() +
                 kSmallWorkers + " --set model.heads=3");
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_NE(result.errors.find("model.heads (3)"), std::string::npos) << result.errors;
}

// A packed update with other results must not count as fast.
TEST(PackedBenchmark, ComparesTheLossesOfBothModes) {
  const Json sequential = {{"losses", {4.0, 2.0}}, {"seconds_per_update", 3.0}};
  Json packed = {{"losses", {4.0, 2.0 * (1 - 1.0 / 1024)}}, {"seconds_per_update", 2.0}};
  Json wrong = packed;
  compare_modes(sequential, packed, 1e-3);
  EXPECT_EQ(packed["loss_difference"], 1.0 / 1024);
  EXPECT_EQ(packed["speedup"], 1.5);
  EXPECT_FALSE(packed.contains("failure"));
  compare_modes(sequential, wrong, 9e-4);
  EXPECT_EQ(wrong["loss_difference"], 1.0 / 1024);
  EXPECT_FALSE(wrong.contains("speedup"));
  EXPECT_NE(wrong["failure"].get<std::string>().find("sequential ones by 9.8e-04"),
            std::string::npos);
  Json fewer = {{"losses", {4.0}}, {"seconds_per_update", 2.0}};
  compare_modes(sequential, fewer, 1);
  EXPECT_EQ(fewer["failure"], "1 losses, 2 sequentially");
}

TEST(PackedBenchmark, RefusesLossesThatAreNotFinite) {
  config::Settings settings = small_settings(2);
  settings.optimizer.lr = 1e30;
  expect_error(ErrorKind::kNumeric, {"loss of worker 0"},
               [&] { measure_packed(settings, {.warmup = 0, .steps = 3, .trace = {}}); });
}

// A failure keeps the finished measurements.
TEST(PackedBenchmark, WritesItsSummaryAfterEachRow) {
  const TemporaryDirectory directory;
  const Path summary = Path(directory / "out") / "summary.json";
  StartedProgram program(
      "benchmark-packed --num-models 1 2 3 4 5 6 7 8 --warmup 0 --steps 100 --output " +
      (directory / "out").string() + kSmallWorkers);
  const Stopwatch watch;
  while (!std::filesystem::exists(summary) && watch.seconds() < 60) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(std::filesystem::exists(summary)) << program.printed();
  const size_t rows = read_json(summary)["rows"].size();
  EXPECT_GE(rows, 1U);
  EXPECT_LT(rows, 16U);
  program.kill(SIGTERM);
  program.wait();
}

// The processes whose command line contains all of `words`.
int64_t processes_with(const std::vector<std::string>& words) {
  int64_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    count += std::ranges::all_of(
        words, [&](const std::string& word) { return line.find(word) != std::string::npos; });
  }
  return count;
}

TEST(PackedBenchmark, EndsItsWorkerWhenKilled) {
  const TemporaryDirectory directory;
  const std::string output = (directory / "out").string();
  StartedProgram program("benchmark-packed --num-models 2 --steps 10000000 --output " + output +
                         kSmallWorkers);
  const auto workers = [&] { return processes_with({"benchmark-packed-worker", output}); };
  const auto wait_for = [&](int64_t count) {
    const Stopwatch watch;
    while (workers() != count && watch.seconds() < 20) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return workers();
  };
  ASSERT_EQ(wait_for(1), 1) << program.printed();
  program.kill(SIGKILL);
  EXPECT_EQ(wait_for(0), 0);
}

// A failed worker is a row and does not end the command; if all rows are failures, it fails. There
// are so many updates that no worker ends before its time is checked.
TEST(PackedBenchmark, ListsFailures) {
  const TemporaryDirectory directory;
  const ProgramResult result = run_saddle(
      std::string("benchmark-packed --num-models 2 --warmup 0 --steps 1000000 --time-limit 0.0001 "
                  "--output ") +
      (directory / "out").string() + kSmallWorkers);
  EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kDevice)) << result.errors;
  EXPECT_NE(result.output.find("over 0.0001 s"), std::string::npos) << result.output;
  EXPECT_NE(result.errors.find("no candidate could be measured"), std::string::npos);
}

TEST(Candidates, HaveAMedian) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
}

}  // namespace
}  // namespace saddle::bench
