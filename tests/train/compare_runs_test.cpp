// Comparing planted run directories.
#include "train/compare_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "config/settings.h"
#include "model/safetensors.h"
#include "support/expect_error.h"
#include "support/run_program.h"
#include "support/temporary_directory.h"
#include "train/small_run.h"

namespace saddle::train {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A run of 1,000 tokens per update with the given numbers.
struct Planted {
  config::Settings settings;
  Json environment = {{"threads", 2},
                      {"data_identity", "data-1"},
                      {"build", {{"revision", "aaaa"}, {"changed", false}, {"compiler", "GNU 12"}}},
                      {"machine", {{"processor", "P"}, {"cores", 2}}}};
  std::vector<double> losses = {5, 4, 3.5};
  std::vector<double> rates = {100, 200, 400};  // tokens per second
  double validation = 3.25;
  bool finished = true;

  std::string metrics() const {
    std::string text;
    for (size_t i = 0; i < losses.size(); ++i) {
      const Json line = {{"type", "train"},
                         {"step", i + 1},
                         {"tokens", 1000 * (i + 1)},
                         {"epoch", 1},
                         {"loss", json_number(losses[i])},
                         {"tokens_per_second", json_number(rates[i])},
                         {"elapsed_tokens_per_second", rates[i] / 2}};
      text += line.dump() + "\n";
      if (i == 1)
        text += R"({"type":"evaluation","loss":3.0,"targets":600,"seconds":2})"
                "\n";
    }
    text += R"({"type":"evaluation","loss":3.125,"targets":600,"seconds":1})"
            "\n";
    if (!finished) return text;
    return text + R"({"type":"validation","loss":)" + std::to_string(validation) +
           R"(,"targets":1800,"seconds":3})" + "\n";
  }

  void write(const Path& directory) const {
    make_directories(directory);
    write_file_atomically(directory / "resolved.yaml", config::to_yaml(settings));
    write_json(directory / "environment.json", environment);
    write_file_atomically(directory / "metrics.jsonl", metrics());
    if (!finished) return;
    write_json(directory / "result.json", {{"step", losses.size()},
                                           {"tokens", 1000 * losses.size()},
                                           {"tokens_per_second", rates.back()},
                                           {"elapsed_tokens_per_second", rates.back() / 4},
                                           {"seconds", {{"startup", 0.5}, {"training", 10}}},
                                           {"peak_memory_bytes", 1 << 20}});
  }
};

class CompareRuns : public ::testing::Test {
 protected:
  Json compare() {
    a_.write(directory_ / "a");
    b_.write(directory_ / "b");
    return compare_runs(directory_ / "a", directory_ / "b");
  }
  std::vector<std::string> keys(const Json& list) {
    std::vector<std::string> keys;
    for (const Json& entry : list) keys.push_back(entry.at("key"));
    return keys;
  }

  TemporaryDirectory directory_;
  Planted a_, b_;
};

TEST_F(CompareRuns, RunsThatDifferOnlyInExecutionDoTheSameWork) {
  b_.settings.runtime.compile = false;
  b_.settings.runtime.threads = 1;
  b_.settings.runtime.output_dir = "elsewhere";
  const Json record = compare();
  EXPECT_EQ(record.at("same_work"), true);
  EXPECT_TRUE(record["differences"]["numbers"].empty());
  EXPECT_THAT(keys(record["differences"]["execution"]),
              ::testing::ElementsAre("runtime.compile", "runtime.threads", "runtime.output_dir"));
  EXPECT_EQ(record["differences"]["execution"][0],
            (Json{{"key", "runtime.compile"}, {"a", true}, {"b", false}}));
  EXPECT_EQ(record["differences"]["data"]["same"], true);
}

TEST_F(CompareRuns, ASettingThatChangesNumbersIsNamed) {
  b_.settings.optimizer.lr = 0.002;
  b_.settings.runtime.amp = true;
  const Json record = compare();
  EXPECT_EQ(record.at("same_work"), false);
  EXPECT_THAT(keys(record["differences"]["numbers"]),
              ::testing::ElementsAre("optimizer.lr", "runtime.amp"));
  EXPECT_TRUE(record["differences"]["execution"].empty());
}

TEST_F(CompareRuns, DifferentDataIsDifferentWork) {
  b_.environment["data_identity"] = "data-2";
  const Json record = compare();
  EXPECT_EQ(record.at("same_work"), false);
  EXPECT_EQ(record["differences"]["data"],
            (Json{{"a", "data-1"}, {"b", "data-2"}, {"same", false}}));
}

TEST_F(CompareRuns, UnknownDataIsNeitherTheSameNorDifferent) {
  b_.environment.erase("data_identity");
  EXPECT_TRUE(compare().at("same_work").is_null());
  EXPECT_THAT(comparison_text(compare()), HasSubstr("whether the data agree is unknown"));
  b_.settings.optimizer.lr = 0.002;
  EXPECT_EQ(compare().at("same_work"), false);
}

TEST_F(CompareRuns, AWeightFileIdentifiesTheData) {
  b_.environment.erase("data_identity");
  make_directories(directory_ / "b");
  model::SafetensorsWriter(directory_ / "b" / "final.safetensors", {},
                           {{"saddle.weights", R"({"recipe":{"data.identity":"data-1"}})"}})
      .commit();
  write_file_atomically(directory_ / "b" / "broken.safetensors", "no");
  EXPECT_EQ(compare().at("same_work"), true);
}

TEST_F(CompareRuns, TheMedianOfAnEvenNumberOfRatesIsBetweenTheMiddleOnes) {
  a_.losses = {5, 4, 3.5, 3.25};
  a_.rates = {100, 400, 200, 300};
  EXPECT_EQ(compare()["throughput"]["tokens_per_second_median"]["a"], 250.0);
}

TEST_F(CompareRuns, ProgramAndMachineAreCompared) {
  b_.environment["build"]["revision"] = "bbbb";
  a_.environment["libraries"] = {{"tokenizer", "S 1"}, {"products_float32", "P 1"}};
  b_.environment["libraries"] = {{"tokenizer", "S 1"}, {"products_float32", "P 2"}};
  b_.environment["machine"]["cores"] = 8;
  b_.environment["threads"] = 8;
  const Json found = compare()["differences"];
  EXPECT_EQ(found["source"], (Json::array({{{"key", "revision"}, {"a", "aaaa"}, {"b", "bbbb"}}})));
  EXPECT_THAT(keys(found["libraries"]), ::testing::ElementsAre("products_float32"));
  EXPECT_THAT(keys(found["machine"]), ::testing::ElementsAre("cores", "threads"));
}

TEST_F(CompareRuns, ThroughputAndLossesAreSideBySide) {
  b_.rates = {300, 600, 800};
  b_.losses = {5, 4.5, 3};
  b_.validation = 3;
  const Json record = compare();
  const Json& speed = record["throughput"];
  EXPECT_EQ(speed["tokens_per_second_median"], (Json{{"a", 200.0}, {"b", 600.0}, {"ratio", 3.0}}));
  EXPECT_EQ(speed["tokens_per_second"], (Json{{"a", 400.0}, {"b", 800.0}, {"ratio", 2.0}}));
  EXPECT_EQ(speed["elapsed_tokens_per_second"], (Json{{"a", 100.0}, {"b", 200.0}, {"ratio", 2.0}}));
  // (600 + 600 + 1800) targets in (2 + 1 + 3) seconds.
  EXPECT_EQ(speed["evaluation_tokens_per_second"]["a"], 500.0);
  const Json& losses = record["losses"];
  EXPECT_EQ(losses["train"], (Json{{"a", 3.5}, {"b", 3.0}, {"difference", -0.5}}));
  EXPECT_EQ(losses["subset"], (Json{{"a", 3.125}, {"b", 3.125}, {"difference", 0.0}}));
  EXPECT_EQ(losses["best"]["a"], 3.0);
  EXPECT_EQ(losses["validation"], (Json{{"a", 3.25}, {"b", 3.0}, {"difference", -0.25}}));
  EXPECT_EQ(losses["train_curve"], (Json{{"updates", 3},
                                         {"first", {{"step", 1}, {"difference", 0.0}}},
                                         {"largest_difference", 0.5}}));
  EXPECT_EQ(record["seconds"]["startup"], (Json{{"a", 0.5}, {"b", 0.5}, {"ratio", 1.0}}));
  EXPECT_TRUE(record["seconds"]["first_update"]["a"].is_null());
  EXPECT_EQ(record["peak_memory_bytes"]["a"], 1 << 20);
}

// 1,000 tokens each at 100, 200 and 400 per second: 10 + 5 + 2.5 seconds.
TEST_F(CompareRuns, AnUnfinishedRunIsReadFromItsMetrics) {
  b_.finished = false;
  b_.write(directory_ / "b");
  const Path metrics = directory_ / "b" / "metrics.jsonl";
  const Json record = [&] {
    a_.write(directory_ / "a");
    write_file_atomically(metrics, read_file(metrics) + R"({"type":"train","st)");
    return compare_runs(directory_ / "a", directory_ / "b");
  }();
  EXPECT_EQ(record["runs"]["a"]["finished"], true);
  EXPECT_EQ(record["runs"]["b"]["finished"], false);
  EXPECT_EQ(record["runs"]["b"]["step"], 3);
  EXPECT_DOUBLE_EQ(record["throughput"]["tokens_per_second"]["b"].get<double>(), 3000 / 17.5);
  EXPECT_EQ(record["throughput"]["elapsed_tokens_per_second"]["b"], 200.0);
  EXPECT_TRUE(record["losses"]["validation"]["b"].is_null());
  EXPECT_TRUE(record["losses"]["validation"]["difference"].is_null());
  EXPECT_TRUE(record["peak_memory_bytes"]["b"].is_null());
  EXPECT_THAT(comparison_text(record), HasSubstr("not finished"));
}

TEST_F(CompareRuns, NumbersThatAreNotFiniteAreNull) {
  b_.losses.back() = std::numeric_limits<double>::quiet_NaN();
  b_.rates = {0, 0, 0};
  const Json record = compare();
  EXPECT_TRUE(record["losses"]["train"]["b"].is_null());
  EXPECT_TRUE(record["losses"]["train"]["difference"].is_null());
  EXPECT_EQ(record["losses"]["train_curve"]["updates"], 2);
  EXPECT_THAT(record.dump(), Not(HasSubstr("nan")));
  EXPECT_THAT(comparison_text(record), Not(HasSubstr("nan")));
}

TEST_F(CompareRuns, ARunWithoutUpdatesHasNoNumbers) {
  a_.write(directory_ / "a");
  b_.finished = false;
  b_.write(directory_ / "b");
  std::filesystem::remove(directory_ / "b" / "metrics.jsonl");
  const Json record = compare_runs(directory_ / "a", directory_ / "b");
  EXPECT_TRUE(record["runs"]["b"]["step"].is_null());
  EXPECT_TRUE(record["throughput"]["tokens_per_second"]["b"].is_null());
  EXPECT_TRUE(record["losses"]["train_curve"]["largest_difference"].is_null());
  EXPECT_THAT(comparison_text(record), HasSubstr("- updates"));
}

TEST_F(CompareRuns, DamagedDirectoriesAreRefused) {
  compare();
  const auto again = [&] { compare_runs(directory_ / "a", directory_ / "b"); };
  const Path metrics = directory_ / "b" / "metrics.jsonl";
  write_file_atomically(metrics, "nonsense\n" + read_file(metrics));
  expect_error(ErrorKind::kData, {"metrics.jsonl:1"}, again);
  std::filesystem::remove(metrics);
  write_file_atomically(directory_ / "b" / "resolved.yaml", "model:\n  depth: 3\n");
  expect_error(ErrorKind::kConfig, {"resolved.yaml", "model.depth"}, again);
  std::filesystem::remove(directory_ / "b" / "resolved.yaml");
  expect_error(ErrorKind::kIo, {"resolved.yaml"}, again);
}

TEST_F(CompareRuns, AStepThatIsNotAnIntegerIsIgnored) {
  compare();
  const Path metrics = directory_ / "b" / "metrics.jsonl";
  write_file_atomically(metrics, R"({"type":"train","step":1e300,"tokens":1,"loss":1})"
                                 "\n" +
                                     read_file(metrics));
  const Json curve = compare_runs(directory_ / "a", directory_ / "b")["losses"]["train_curve"];
  EXPECT_EQ(curve["updates"], 3);
}

TEST_F(CompareRuns, TheLastLossOfAStepLoggedTwiceCounts) {
  compare();
  const Path metrics = directory_ / "a" / "metrics.jsonl";
  write_file_atomically(metrics, R"({"type":"train","step":1,"tokens":1,"loss":9})"
                                 "\n" +
                                     read_file(metrics));
  const Json losses = compare_runs(directory_ / "a", directory_ / "a")["losses"];
  EXPECT_EQ(losses["train_curve"]["updates"], 3);
  EXPECT_EQ(losses["train_curve"]["largest_difference"], 0.0);
}

TEST_F(CompareRuns, TheCommandPrintsTablesAndWritesJson) {
  b_.settings.runtime.compile = false;
  b_.rates = {300, 600, 800};
  const Json record = compare();
  const Path json = directory_ / "comparison.json";
  const ProgramResult result = run_saddle("compare-runs " + (directory_ / "a").string() + " " +
                                          (directory_ / "b").string() + " --json " + json.string());
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(read_json(json), record);
  EXPECT_EQ(result.output, comparison_text(record));
  for (const char* part : {"the runs differ in execution only: the same work, seed 42 and order",
                           "runtime.compile: true | false", "training, median", "3.000"}) {
    EXPECT_THAT(result.output, HasSubstr(part));
  }
  EXPECT_EQ(run_saddle("compare-runs " + (directory_ / "a").string()).exit_code, 2);
}

// Names of directories may have any bytes.
TEST_F(CompareRuns, ANameThatIsNotTextIsShownAndWritten) {
  const Path odd = directory_ / "x\x1b[2J\n\xFF";
  a_.write(odd);
  b_.write(directory_ / "b");
  const Path json = directory_ / "comparison.json";
  const ProgramResult result =
      run_saddle("compare-runs '" + odd.string() + "' '" + (directory_ / "b").string() +
                 "' --json " + json.string());
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(read_json(json)["runs"]["a"]["directory"],
            (directory_ / "x\x1b[2J\n\xEF\xBF\xBD").string());
  EXPECT_THAT(result.output, HasSubstr("/x\\x1b[2J\\x0a\\xff: "));
  EXPECT_THAT(result.output, Not(HasSubstr("\x1b")));
}

// A matched pair: the same run operation by operation and with the plan.
TEST(CompareRealRuns, EagerAndCompiledDifferOnlyInExecution) {
  SmallRun eager, compiled;
  for (SmallRun* run : {&eager, &compiled}) {
    run->settings.data.cache = eager.settings.data.cache;
    run->settings.runtime.compile = run == &compiled;
    run->train();
  }
  const Json record =
      compare_runs(eager.settings.runtime.output_dir, compiled.settings.runtime.output_dir);
  EXPECT_EQ(record.at("same_work"), true);
  EXPECT_TRUE(record["differences"]["numbers"].empty());
  std::vector<std::string> keys;
  for (const Json& entry : record["differences"]["execution"]) keys.push_back(entry.at("key"));
  EXPECT_THAT(keys, ::testing::ElementsAre("runtime.compile", "runtime.output_dir"));
  EXPECT_EQ(record["seed"]["a"], record["seed"]["b"]);
  for (const char* rate : {"tokens_per_second", "elapsed_tokens_per_second"}) {
    EXPECT_GT(record["throughput"][rate]["ratio"].get<double>(), 0) << rate;
  }
  const Json& losses = record["losses"];
  EXPECT_EQ(losses["train_curve"]["updates"], 40);
  EXPECT_EQ(losses["train_curve"]["first"]["step"], 1);
  // Before any learning the two differ by the rounding of float32 sums: a few times 6e-8 of
  // a loss near 4. Updates amplify it.
  EXPECT_LT(std::abs(losses["train_curve"]["first"]["difference"].get<double>()), 2e-6);
  EXPECT_LT(std::abs(losses["validation"]["difference"].get<double>()), 1e-2);
  EXPECT_THAT(comparison_text(record), HasSubstr("the same work, seed 42 and order\nB / A in"));
}

}  // namespace
}  // namespace saddle::train
