// The command benchmark with its real worker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/json.h"
#include "config/load.h"
#include "support/run_program.h"
#include "support/started_program.h"

namespace saddle::bench {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSmall =
    "benchmark --set model.vocab_size=50 --set model.context_length=8 --set model.layers=1"
    " --set model.width=16 --set model.heads=2 --set model.ffn_width=24"
    " --set training.batch_tokens=32 --set training.micro_batch_size=4 --set runtime.threads=1"
    " --data-mode synthetic --micro-batch-sizes 4 --output ";

TEST(BenchmarkCommand, MeasuresTheGridOnce) {
  const TemporaryDirectory directory;
  const Path output = directory / "out";
  const std::string words = kSmall + output.string() + " --warmup 1 --steps 2 --windows 3";
  const ProgramResult first = run_saddle(words);
  ASSERT_EQ(first.exit_code, kExitSuccess) << first.errors;
  EXPECT_THAT(first.output, HasSubstr("selected: mb4-compile-"));
  const Json summary = read_json(output / "summary.json");
  ASSERT_EQ(summary["rows"].size(), 2U);
  for (const Json& row : summary["rows"]) {
    EXPECT_EQ(row["status"], "measured") << row.dump();
    EXPECT_EQ(row["windows"].size(), 3U);
    EXPECT_GT(row["memory_share"].get<double>(), 0);
    const Json record = read_json(output / row["record"].get<std::string>());
    EXPECT_EQ(record["tokens_per_second"], row["tokens_per_second"]);
  }
  EXPECT_EQ(config::load_settings({output / "selected.yaml"}, {}).training.micro_batch_size, 4);
  EXPECT_TRUE(std::filesystem::exists(output / "telemetry.csv"));

  const ProgramResult second = run_saddle(words);
  EXPECT_THAT(second.errors, HasSubstr("measured before"));
  const Json measured = read_json(output / "summary.json");
  for (const Json& row : measured["rows"]) {
    EXPECT_EQ(row["reused"], true);
  }
}

TEST(BenchmarkCommand, StopsWithItsWorker) {
  const TemporaryDirectory directory;
  const Path output = directory / "out";
  StartedProgram program(kSmall + output.string() + " --steps 100000000");
  const Path progress = output / "progress.json";
  for (const Stopwatch watch; !std::filesystem::exists(progress) && watch.seconds() < 60;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  program.kill(SIGTERM);
  EXPECT_EQ(program.wait(), kExitStopped) << program.printed();
  EXPECT_EQ(read_json(progress)["state"], "stopped");
  EXPECT_EQ(read_json(progress)["done"], 0);
}

TEST(BenchmarkCommand, WithoutAnyMeasurementIsAFailure) {
  const TemporaryDirectory directory;
  const std::string output = directory / "out";
  const ProgramResult late = run_saddle(kSmall + output + " --time-limit 0.001");
  EXPECT_EQ(late.exit_code, exit_code(ErrorKind::kDevice));
  EXPECT_THAT(late.output, HasSubstr("over 0.001 s"));
  EXPECT_THAT(late.errors, HasSubstr("no candidate could be measured"));
  const ProgramResult gh200 = run_saddle(kSmall + output + " --gh200");
  EXPECT_EQ(gh200.exit_code, exit_code(ErrorKind::kDevice));
  EXPECT_THAT(gh200.errors, HasSubstr("--gh200"));
  EXPECT_EQ(run_saddle(kSmall + output + " --steps 0").exit_code, 2);
}

// Options that would be ignored are refused.
TEST(BenchmarkCommand, RefusesOptionsThatDoNotGoTogether) {
  const TemporaryDirectory directory;
  const Path output = directory / "out";
  for (const auto& [options, message] : std::vector<std::pair<std::string, std::string>>{
           {" --budget-minutes 5", "use it with --tune"}, {" --tune", "--data-mode synthetic"}}) {
    const ProgramResult result = run_saddle(kSmall + output.string() + options);
    EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kUsage)) << options;
    EXPECT_THAT(result.errors, HasSubstr(message));
  }
  EXPECT_FALSE(std::filesystem::exists(output));
}

}  // namespace
}  // namespace saddle::bench
