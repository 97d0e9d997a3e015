// The directory of results: what is written, reused, refused and added to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/analyzed_run.h"
#include "model/parameters.h"
#include "model/weights_file.h"
#include "support/expect_error.h"

namespace saddle::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

class AnalysisResults : public ::testing::Test {
 protected:
  AnalyzedRun run_;
  AnalysisOptions options_ = run_.options();
};

TEST_F(AnalysisResults, EveryCheckpointAndCaseIsMeasuredOnce) {
  const AnalysisOutcome outcome = analyze(options_);
  EXPECT_TRUE(outcome.completed);
  EXPECT_EQ(outcome.measured, 4);
  EXPECT_THAT(run_.case_files(),
              ElementsAre(Key("epoch-005.seen.json"), Key("epoch-005.unseen.json"),
                          Key("epoch-010.seen.json"), Key("epoch-010.unseen.json")));
  const Json first = read_json(run_.output() / "epoch-005.seen.json");
  EXPECT_EQ(first["checkpoint"]["tokens"], 5 * 27 * 8);
  EXPECT_EQ(first["checkpoint"]["epoch"], 5);
  EXPECT_EQ(first["checkpoint"]["step"], 20);
  EXPECT_EQ(first["epoch"]["targets"], 27 * 8);
  const Json last = read_json(run_.output() / "epoch-010.seen.json");
  EXPECT_EQ(last["checkpoint"]["names"], Json::array({"epoch-010", "final"}));
  EXPECT_EQ(last["checkpoint"]["tokens"], 270 * 8);
}

// Computes the statistics again from the samples in the file.
TEST_F(AnalysisResults, StatisticsAreThoseOfTheSamples) {
  options_.checkpoints = {"final"};
  options_.cases = {curvature::DataCaseKind::kSeen};
  analyze(options_);
  const Json content = read_json(run_.output() / "final.seen.json");
  double forms = 0, squares = 0, norms = 0, gradients = 0, random = 0;
  // 32 were requested; there are four batches.
  ASSERT_EQ(content["noise"].size(), 4);
  for (const Json& sample : content["noise"]) {
    forms += sample["quadratic_form"].get<double>();
    squares += sample["squared_norm"].get<double>();
    norms += std::sqrt(sample["squared_norm"].get<double>());
    gradients += sample["gradient_norm"].get<double>();
  }
  ASSERT_EQ(content["random"].size(), 3);
  const double parameters = content["parameters"];
  for (const Json& sample : content["random"]) {
    EXPECT_EQ(sample["squared_norm"], parameters);
    random += sample["quadratic_form"].get<double>();
  }
  // Sums of a few doubles in the same order.
  const Json& statistics = content["statistics"];
  EXPECT_DOUBLE_EQ(statistics["noise_alignment"], forms / 4);
  EXPECT_DOUBLE_EQ(statistics["normalized_alignment"], forms / squares);
  EXPECT_DOUBLE_EQ(statistics["mean_noise_norm"], norms / 4);
  EXPECT_DOUBLE_EQ(statistics["mean_gradient_norm"], gradients / 4);
  EXPECT_DOUBLE_EQ(statistics["random_alignment"], random / (3 * parameters));
}

TEST_F(AnalysisResults, AnIdenticalRerunReusesEverything) {
  analyze(options_);
  const auto files = run_.case_files();
  const std::string summary = read_file(run_.output() / "summary.csv");
  const std::string manifest = read_file(run_.output() / "manifest.json");
  const AnalysisOutcome again = analyze(options_);
  EXPECT_EQ(again.measured, 0);
  EXPECT_EQ(again.reused, 4);
  EXPECT_EQ(run_.case_files(), files);
  EXPECT_EQ(read_file(run_.output() / "summary.csv"), summary);
  EXPECT_EQ(read_file(run_.output() / "manifest.json"), manifest);
}

TEST_F(AnalysisResults, MissingCasesAreMeasuredAgainToTheSameBytes) {
  analyze(options_);
  const auto files = run_.case_files();
  std::filesystem::remove(run_.output() / "epoch-010.seen.json");
  const AnalysisOutcome again = analyze(options_);
  EXPECT_EQ(again.measured, 1);
  EXPECT_EQ(run_.case_files(), files);
}

TEST_F(AnalysisResults, AStopKeepsFinishedCases) {
  analyze(options_);
  const auto files = run_.case_files();
  std::filesystem::remove_all(run_.output());
  // Stops as soon as two cases are finished.
  const auto stop = [this] { return run_.case_files().size() >= 2 ? SIGTERM : 0; };
  const AnalysisOutcome stopped = analyze(options_, stop);
  EXPECT_FALSE(stopped.completed);
  EXPECT_EQ(stopped.measured, 2);
  EXPECT_EQ(stopped.cases.size(), 2);
  const AnalysisOutcome again = analyze(options_);
  EXPECT_TRUE(again.completed);
  EXPECT_EQ(again.reused, 2);
  EXPECT_EQ(run_.case_files(), files);
}

TEST_F(AnalysisResults, BeforeTheFirstResultOtherSettingsMayBeChosen) {
  const AnalysisOutcome stopped = analyze(options_, [] { return SIGINT; });
  EXPECT_FALSE(stopped.completed);
  EXPECT_TRUE(std::filesystem::exists(run_.output() / "manifest.json"));
  options_.random_samples = 2;
  EXPECT_EQ(analyze(options_).measured, 4);
  const Json manifest = read_json(run_.output() / "manifest.json");
  EXPECT_EQ(manifest["identity"]["analysis.random_samples"], 2);
  options_.random_samples = 3;
  expect_error(ErrorKind::kConfig, {"analysis.random_samples (there 2, now 3)"},
               [&] { analyze(options_); });
}

// First weights without a note are measured, then the run's own file with the same weights.
TEST_F(AnalysisResults, AnAliasGivesThePlaceInTheRun) {
  const Path bare = run_.directory / "bare.safetensors";
  {
    backend::Context context(1);
    backend::Arena<float> weights(context, model::Parameters(run_.settings.model).layout, 1);
    model::load_weights<float>(run_.run() / "epoch-005.safetensors", run_.settings.model, weights);
    model::save_weights<float>(bare, weights, 0, {});
  }
  options_.checkpoints = {bare.string()};
  options_.cases = {curvature::DataCaseKind::kSeen};
  EXPECT_TRUE(analyze(options_).cases[0]["checkpoint"]["tokens"].is_null());
  options_.checkpoints = {"epoch-005"};
  const AnalysisOutcome outcome = analyze(options_);
  EXPECT_EQ(outcome.reused, 1);
  EXPECT_EQ(outcome.measured, 0);
  const Json checkpoint = outcome.cases[0]["checkpoint"];
  EXPECT_EQ(checkpoint["names"].size(), 2);
  EXPECT_EQ(checkpoint["epoch"], 5);
  EXPECT_EQ(checkpoint["step"], 20);
  EXPECT_EQ(checkpoint["tokens"], 5 * 27 * 8);
  EXPECT_THAT(read_file(run_.output() / "summary.csv"), HasSubstr("epoch-005,5,20,1080,seen"));
  // They remain when the bare file is requested again.
  options_.checkpoints = {bare.string()};
  EXPECT_EQ(analyze(options_).cases[0]["checkpoint"], checkpoint);
}

TEST_F(AnalysisResults, CheckpointsAndCasesAreAdded) {
  options_.checkpoints = {"final"};
  options_.cases = {curvature::DataCaseKind::kUnseen};
  analyze(options_);
  options_.checkpoints = {"all"};
  options_.cases = {curvature::DataCaseKind::kSeen, curvature::DataCaseKind::kUnseen};
  const AnalysisOutcome outcome = analyze(options_);
  EXPECT_EQ(outcome.measured, 3);
  EXPECT_EQ(outcome.reused, 1);
  // The file keeps its name and gains that of the epoch.
  const Json content = read_json(run_.output() / "final.unseen.json");
  EXPECT_EQ(content["checkpoint"]["names"], Json::array({"final", "epoch-010"}));
  EXPECT_EQ(read_json(run_.output() / "manifest.json")["cases"].size(), 4);
}

TEST_F(AnalysisResults, AnotherSettingIsRefusedByName) {
  options_.checkpoints = {"final"};
  options_.cases = {curvature::DataCaseKind::kSeen};
  analyze(options_);
  const auto expect_refusal = [](AnalysisOptions options, const std::string& field,
                                 const std::string& values) {
    expect_error(ErrorKind::kConfig, {"analysis." + field + " (" + values + ")", "manifest.json"},
                 [&] { analyze(options); });
  };
  AnalysisOptions changed = options_;
  changed.seed = 43;
  expect_refusal(changed, "seed", "there 42, now 43");
  changed = options_;
  changed.noise_samples = std::nullopt;
  expect_refusal(changed, "noise_samples", "there 32, now \"all\"");
  changed = options_;
  changed.random_samples = 4;
  expect_refusal(changed, "random_samples", "there 3, now 4");
  changed = options_;
  changed.method = curvature::Method::kForwardReverse;
  expect_refusal(changed, "method", "there \"adjoint-weighted\", now \"forward-reverse\"");
  changed = options_;
  changed.dtype = config::Precision::kFloat64;
  expect_refusal(changed, "dtype", "there \"float32\", now \"float64\"");
  changed = options_;
  changed.amp = true;
  expect_refusal(changed, "amp", "there false, now true");
  changed = options_;
  changed.hvp_batch_size = 8;
  expect_refusal(changed, "hvp_batch_size", "there 4, now 8");
  // Place and memory are not settings of the result.
  changed = options_;
  changed.memory_gib = 1;
  EXPECT_EQ(analyze(changed).reused, 1);
}

TEST_F(AnalysisResults, AnotherSourceIsRefused) {
  options_.checkpoints = {"final"};
  options_.cases = {curvature::DataCaseKind::kSeen};
  analyze(options_);
  const Path file = run_.output() / "manifest.json";
  Json manifest = read_json(file);
  manifest["identity"]["source.revision"] = "another";
  write_json(file, manifest);
  expect_error(ErrorKind::kConfig, {"source.revision (there \"another\", now "},
               [&] { analyze(options_); });
}

TEST_F(AnalysisResults, ACaseFileFromElsewhereIsRefused) {
  options_.checkpoints = {"final"};
  options_.cases = {curvature::DataCaseKind::kSeen};
  analyze(options_);
  const Path file = run_.output() / "final.seen.json";
  Json content = read_json(file);
  content["identity"]["analysis.seed"] = 7;
  write_json(file, content);
  expect_error(ErrorKind::kConfig, {"final.seen.json", "analysis.seed (there 7, now 42)"},
               [&] { analyze(options_); });
  write_file_atomically(file, "{}");
  expect_error(ErrorKind::kData, {"final.seen.json", "format"}, [&] { analyze(options_); });
}

TEST_F(AnalysisResults, OtherWeightsUnderAKnownNameAreRefused) {
  options_.checkpoints = {"epoch-005"};
  options_.cases = {curvature::DataCaseKind::kSeen};
  analyze(options_);
  std::filesystem::copy_file(run_.run() / "final.safetensors", run_.run() / "epoch-005.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  expect_error(ErrorKind::kConfig, {"epoch-005.seen.json", "other weights", "weights_sha256"},
               [&] { analyze(options_); });
}

TEST_F(AnalysisResults, ASecondWriterIsRefused) {
  make_directories(run_.output());
  const FileLock lock(run_.output() / "lock", "a test");
  expect_error(ErrorKind::kIo, {"analysis into", "is refused", "locked by"},
               [&] { analyze(options_); });
}

TEST_F(AnalysisResults, ADirectoryWithOtherContentsIsNotChanged) {
  options_.output = run_.run();
  expect_error(ErrorKind::kConfig, {"holds something else", "choose a new --output"},
               [&] { analyze(options_); });
  options_.output = run_.settings.data.cache;
  expect_error(ErrorKind::kConfig, {"manifest of something else"}, [&] { analyze(options_); });
  EXPECT_FALSE(std::filesystem::exists(options_.output / "lock"));
}

TEST_F(AnalysisResults, TheSummaryHoldsEveryCase) {
  options_.cases = {curvature::DataCaseKind::kSeen};
  options_.random_samples = 0;
  options_.between = {{"epoch-005", "final"}};
  analyze(options_);
  const std::string summary = read_file(run_.output() / "summary.csv");
  EXPECT_THAT(summary, HasSubstr("checkpoint,epoch,step,tokens,case,blocks,targets,loss,"));
  EXPECT_THAT(summary, HasSubstr("\nepoch-005,5,20,1080,seen,27,216,"));
  EXPECT_THAT(summary, HasSubstr("\nepoch-010 final,10,40,2160,seen,27,216,"));
  // No random samples: a count of 0 and no alignment.
  const Json content = read_json(run_.output() / "epoch-005.seen.json");
  EXPECT_TRUE(content["statistics"]["random_alignment"].is_null());
  EXPECT_THAT(summary, HasSubstr(fmt::format(",0,,{},\n", content["parameters"].dump())));
  EXPECT_THAT(summary, Not(HasSubstr("nan")));
}

TEST_F(AnalysisResults, TheManifestSaysWhatWasMeasuredAndWhere) {
  options_.checkpoints = {"final"};
  analyze(options_);
  const Json manifest = read_json(run_.output() / "manifest.json");
  const Json& identity = manifest["identity"];
  EXPECT_EQ(identity["analysis.method"], "adjoint-weighted");
  EXPECT_EQ(identity["analysis.backend"], "cpu");
  EXPECT_EQ(identity["training.micro_batch_size"], 4);
  EXPECT_TRUE(identity["data.identity"].is_string());
  EXPECT_TRUE(identity["source.revision"].is_string());
  ASSERT_EQ(manifest["cases"].size(), 2);
  EXPECT_EQ(manifest["cases"][0]["threads"], train::kThreads);
  EXPECT_TRUE(manifest["cases"][0]["machine"]["processor"].is_string());
  EXPECT_TRUE(manifest["cases"][0]["libraries"]["products_float32"].is_string());
  EXPECT_GE(manifest["cases"][0]["seconds"], 0);
  EXPECT_EQ(manifest["checkpoints"][0]["names"], Json::array({"final"}));
  EXPECT_EQ(manifest["run"], std::filesystem::absolute(run_.run()).string());
}

}  // namespace
}  // namespace saddle::analysis
