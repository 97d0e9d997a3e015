// The command: its output and exit codes, and how it continues after being killed or stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "analysis/analyzed_run.h"
#include "base/exit_codes.h"
#include "support/run_program.h"
#include "support/started_program.h"

namespace saddle::analysis {
namespace {

using ::testing::HasSubstr;

class AnalysisProgram : public ::testing::Test {
 protected:
  std::string arguments(const Path& output, const std::string& more = "") const {
    return fmt::format("analyze --run {} --output {} --threads 1 --random-samples 40 {}",
                       run_.run().string(), output.string(), more);
  }

  std::map<std::string, std::string> files_of(const Path& output) const {
    std::map<std::string, std::string> files;
    if (!std::filesystem::exists(output)) return files;
    for (const auto& entry : std::filesystem::directory_iterator(output)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with("seen.json") && !name.starts_with(".")) {
        files[name] = read_file(entry.path());
      }
    }
    return files;
  }

  // Starts it, sends `signal` once one case is finished and the next has begun, and returns the
  // exit code.
  int interrupt(const Path& output, int signal) const {
    StartedProgram program(arguments(output));
    while (files_of(output).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    program.kill(signal);
    return program.wait();
  }

  AnalyzedRun run_;
};

TEST_F(AnalysisProgram, PrintsATableAndWhereTheFilesAre) {
  const Path output = run_.directory / "results";
  const ProgramResult result = run_saddle(arguments(output));
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("normalized"));
  EXPECT_THAT(result.output, HasSubstr("epoch-010 final"));
  EXPECT_THAT(result.output, HasSubstr("4 cases measured, 0 reused"));
  EXPECT_THAT(result.output, HasSubstr((output / "summary.csv").string()));
  EXPECT_THAT(run_saddle(arguments(output)).output, HasSubstr("0 cases measured, 4 reused"));
}

TEST_F(AnalysisProgram, KilledInTheMiddleItContinuesToTheSameBytes) {
  const Path undisturbed = run_.directory / "undisturbed", output = run_.directory / "results";
  ASSERT_EQ(run_saddle(arguments(undisturbed)).exit_code, 0);
  EXPECT_EQ(interrupt(output, SIGKILL), -1);
  const size_t finished = files_of(output).size();
  const ProgramResult again = run_saddle(arguments(output));
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_THAT(again.output,
              HasSubstr(fmt::format("{} cases measured, {} reused", 4 - finished, finished)));
  EXPECT_EQ(files_of(output), files_of(undisturbed));
  EXPECT_EQ(read_file(output / "summary.csv"), read_file(undisturbed / "summary.csv"));
}

TEST_F(AnalysisProgram, StoppedInTheMiddleItContinuesToTheSameBytes) {
  const Path undisturbed = run_.directory / "undisturbed", output = run_.directory / "results";
  ASSERT_EQ(run_saddle(arguments(undisturbed)).exit_code, 0);
  const int code = interrupt(output, SIGTERM);
  EXPECT_TRUE(code == kExitStopped || code == 0) << code;
  EXPECT_EQ(run_saddle(arguments(output)).exit_code, 0);
  EXPECT_EQ(files_of(output), files_of(undisturbed));
}

TEST_F(AnalysisProgram, ASecondOneInTheSameDirectoryIsRefused) {
  const Path output = run_.directory / "results";
  StartedProgram first(arguments(output));
  while (files_of(output).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  first.kill(SIGSTOP);
  const size_t finished = files_of(output).size();
  const ProgramResult second = run_saddle(arguments(output));
  first.kill(SIGCONT);
  // If all files exist, the first may have finished, so that the second has nothing to do.
  if (finished < 4 || second.exit_code != 0) {
    EXPECT_EQ(second.exit_code, exit_code(ErrorKind::kIo)) << second.errors;
    EXPECT_THAT(second.errors, HasSubstr("analysis into"));
  }
  EXPECT_EQ(first.wait(), 0) << first.printed();
}

TEST_F(AnalysisProgram, BadCommandLines) {
  const Path output = run_.directory / "results";
  const auto expect_failure = [&](const std::string& more, ErrorKind kind,
                                  const std::string& part) {
    const ProgramResult result = run_saddle(arguments(output, more));
    EXPECT_EQ(result.exit_code, exit_code(kind)) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr(part));
  };
  expect_failure("--noise-samples some", ErrorKind::kUsage,
                 "--noise-samples, unless it is 'all': 'some' is not an integer");
  expect_failure("--noise-samples 0", ErrorKind::kUsage, "--noise-samples is 0");
  expect_failure("--method guess", ErrorKind::kUsage, "guess");
  expect_failure("--data-case other", ErrorKind::kUsage, "--data-case");
  expect_failure("--checkpoints epoch-001 final", ErrorKind::kConfig, "epoch-001");
  expect_failure("--direction-between final", ErrorKind::kUsage, "--direction-between");
  expect_failure("--direction-between final epoch-099", ErrorKind::kConfig, "epoch-099");
  EXPECT_FALSE(std::filesystem::exists(output));
}

TEST_F(AnalysisProgram, EveryOptionIsUsed) {
  const Path output = run_.directory / "results";
  const ProgramResult result = run_saddle(arguments(
      output,
      "--checkpoints epoch-005 --data-case seen --noise-samples all --seed 7 --method "
      "forward-reverse --dtype float64 --hvp-batch-size 3 --memory-gib 0.5 --no-consensus "
      "--direction-between epoch-005 final --direction " +
          (run_.run() / "final.safetensors").string()));
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  const Json content = read_json(output / "epoch-005.seen.json");
  EXPECT_EQ(content["noise"].size(), 4);
  EXPECT_EQ(content["random"].size(), 40);
  EXPECT_EQ(content["own"].size(), 2);
  const Json& identity = content["identity"];
  EXPECT_EQ(identity["analysis.noise_samples"], "all");
  EXPECT_EQ(identity["analysis.seed"], 7);
  EXPECT_EQ(identity["analysis.method"], "forward-reverse");
  EXPECT_EQ(identity["analysis.dtype"], "float64");
  EXPECT_EQ(identity["analysis.hvp_batch_size"], 3);
  EXPECT_EQ(identity["analysis.consensus"], false);
}

}  // namespace
}  // namespace saddle::analysis
