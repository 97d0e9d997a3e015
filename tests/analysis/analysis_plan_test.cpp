// The work of an analysis: counted by hand, and as much in the plan as in the finished results.
#include "analysis/analysis_plan.h"

#include <gtest/gtest.h>

#include "analysis/analyzed_run.h"

namespace saddle::analysis {
namespace {

// Eight sequences in each of three batches, for three workers together, and one checkpoint.
struct PackedRun {
  PackedRun() : settings(train::small_settings(directory.path())) {
    settings.decentralized.num_models = 3;
    settings.training.micro_batch_size = 3;
    settings.training.batch_tokens = 9 * 8;
    settings.training.max_tokens = settings.training.epoch_tokens = 27 * 8;
    data::write_token_cache(settings.data.cache, data::random_ids(54 * 8 + 1, 61, 1),
                            data::random_ids(24 * 8 + 4, 61, 2), 61);
    Log log = Log::silent();
    train::run_training(settings, {}, log);
  }

  double work(bool consensus, std::optional<int64_t> noise) const {
    AnalysisOptions options;
    options.run = settings.runtime.output_dir;
    options.cases = {curvature::DataCaseKind::kSeen};
    options.consensus = consensus;
    options.noise_samples = noise;
    options.random_samples = 5;
    options.output = directory / "analysis";
    const AnalysisPlan plan(options);
    return plan.work(*plan.cases().at(0));
  }

  TemporaryDirectory directory;
  config::Settings settings;
};

// An epoch of 216 targets in nine local batches: two passes shared by all directions, one for each
// of them, and the gradients of the noise batches over their own tokens.
TEST(AnalysisWork, CountsEveryDirectionOfAPackedRun) {
  const PackedRun run;
  EXPECT_DOUBLE_EQ(run.work(false, std::nullopt), 216 * (2 + 9 + 5) + 216);
  EXPECT_DOUBLE_EQ(run.work(true, std::nullopt), 216 * (2 + 9 + 5 + 3) + 216);
  EXPECT_DOUBLE_EQ(run.work(false, 100), run.work(false, 9)) << "there are nine";
  EXPECT_DOUBLE_EQ(run.work(false, 3), 216 * (2 + 3 + 5) + 72);
}

// So that the time of one analysis gives that of another.
TEST(AnalysisWork, OfFinishedResultsIsThatOfThePlan) {
  const AnalyzedRun run;
  AnalysisOptions options = run.options();
  options.checkpoints = {"epoch-005", "final"};
  options.spectrum = {.top_eigenvalues = 1, .density = true, .starts = 2, .steps = 3};
  ASSERT_TRUE(analyze(options).completed);
  const AnalysisPlan plan(options);
  double work = 0;
  for (const auto& data : plan.cases()) work += 2 * plan.work(*data);
  double seconds = 0;
  const Json manifest = read_json(run.output() / "manifest.json");
  for (const Json& record : manifest.at("cases")) {
    seconds += record.at("seconds").get<double>();
  }
  EXPECT_NEAR(measured_seconds_per_work(run.output(), plan.identity()) * work / seconds, 1, 1e-12);
}

}  // namespace
}  // namespace saddle::analysis
