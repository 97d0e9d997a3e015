// A strict parser reads every machine-readable file of a real run and its report; numbers that are
// not finite must be null.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "report/report.h"
#include "report/runs.h"
#include "support/expect_error.h"
#include "support/run_program.h"
#include "train/metrics.h"
#include "train/small_run.h"

namespace saddle::report {
namespace {

using ::testing::HasSubstr;

// nlohmann::json without extensions accepts only RFC 8259: NaN and Infinity are refused.
void expect_strict_json(const Path& file, const std::string& text) {
  EXPECT_TRUE(nlohmann::json::accept(text)) << file;
}

// Reads every .json and .jsonl file under a directory. Returns the number of values read.
int64_t read_strictly(const Path& directory) {
  int64_t values = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    const Path& file = entry.path();
    if (file.extension() == ".json") {
      expect_strict_json(file, read_file(file));
      ++values;
    } else if (file.extension() == ".jsonl") {
      std::istringstream lines(read_file(file));
      for (std::string line; std::getline(lines, line); ++values) expect_strict_json(file, line);
    }
  }
  return values;
}

std::string page_data(const Path& page) {
  const std::string text = read_file(page);
  const std::string begin = R"(<script type="application/json" id="curves">)";
  const size_t at = text.find(begin) + begin.size();
  return text.substr(at, text.find("</script>", at) - at);
}

// A learning rate of 1e200 in float64: after one update the squared distance between the workers'
// weights exceeds the largest double, and the loss of the second update is NaN.
struct DivergingRun : train::SmallRun {
  DivergingRun() {
    settings.runtime.dtype = config::Precision::kFloat64;
    settings.optimizer.lr = 1e200;
    settings.decentralized.num_models = 2;
    settings.training.max_tokens = 32 * 8 * 4;
    settings.training.epoch_tokens = 32 * 8;
  }
};

TEST(StrictFiles, ARunThatDivergesWritesNullAndIsReportedAsFailed) {
  DivergingRun run;
  expect_error(ErrorKind::kNumeric, {"update 2"}, [&] { run.train(); });
  const std::vector<Json> lines = train::read_lines(run.file("metrics.jsonl"));
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back().at("type"), train::kTrainLine);
  EXPECT_TRUE(lines.back().at("consensus_distance").is_null());
  EXPECT_TRUE(lines.back().at("loss").is_number());
  const Path output = run.directory / "report";
  Log log = Log::silent();
  const ReportOutcome outcome =
      write_report({.runs = {run.settings.runtime.output_dir}, .output = output}, log);
  EXPECT_THAT(outcome.table, HasSubstr("failed"));
  EXPECT_THAT(outcome.table, HasSubstr("training ended after 1 updates: the loss of worker "));
  EXPECT_THAT(outcome.table, HasSubstr("1 of 1 logged consensus distances is not finite"));
  EXPECT_GT(read_strictly(run.directory.path()), 2);
  expect_strict_json("page", page_data(outcome.page));
}

TEST(StrictFiles, CommandsReadARunWithAPlantedNan) {
  train::SmallRun run;
  run.settings.training.max_tokens = 2 * 27 * 8;
  run.train();
  // As training would log it; such an update stops the run, so the line must be planted.
  train::MetricsFile(run.file("metrics.jsonl"))
      .append({{"type", train::kTrainLine},
               {"step", 9},
               {"tokens", 500},
               {"loss", std::numeric_limits<double>::quiet_NaN()},
               {"tokens_per_second", std::numeric_limits<double>::infinity()}});
  EXPECT_TRUE(train::read_lines(run.file("metrics.jsonl")).back().at("loss").is_null());
  const std::string directory = run.settings.runtime.output_dir;
  const Path output = run.directory / "report";
  const ProgramResult reported =
      run_saddle("report --runs " + directory + " --output " + output.string());
  EXPECT_EQ(reported.exit_code, 0) << reported.errors;
  const ProgramResult compared =
      run_saddle("compare-runs " + directory + " " + directory + " --json " +
                 (run.directory / "comparison.json").string());
  EXPECT_EQ(compared.exit_code, 0) << compared.errors;
  const ProgramResult evaluated =
      run_saddle("evaluate --json --config " + run.file("resolved.yaml").string() +
                 " --checkpoint " + run.file("final.state.safetensors").string());
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.errors;
  expect_strict_json("evaluate --json", evaluated.output);
  EXPECT_GT(read_strictly(run.directory.path()), 10);
  const Json row = read_json(output / "report.json")["runs"][0];
  EXPECT_EQ(row["state"], "finished");
  EXPECT_TRUE(row["train_loss"].is_null());
  EXPECT_TRUE(row["validation_loss"].is_number());
}

// report/run_ending.h must recognize the lines that training writes to run.log.
TEST(StrictFiles, ARunStoppedByASignalSaysSo) {
  train::SmallRun run;
  EXPECT_FALSE(run.train(train::stop_after(run, 3)).completed);
  const auto runs = read_runs({run.settings.runtime.output_dir});
  EXPECT_EQ(runs[0].status, Status::kStopped);
  EXPECT_THAT(runs[0].notes, ::testing::ElementsAre("signal 15: stopping after 3 updates"));
  EXPECT_EQ(runs[0].steps, 40);
}

}  // namespace
}  // namespace saddle::report
