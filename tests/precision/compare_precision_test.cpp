// The paired study against its parts, and what its file keeps and refuses.
#include "precision/compare_precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/analyzed_run.h"
#include "base/exit_codes.h"
#include "curvature/case_json.h"
#include "curvature/directions.h"
#include "curvature/gradients.h"
#include "curvature/small_case.h"
#include "curvature/stored_microbatches.h"
#include "precision/compare_precision_case.h"
#include "precision/compare_precision_json.h"
#include "support/dot.h"
#include "support/expect_error.h"
#include "support/run_program.h"

namespace saddle::precision {
namespace {

using ::testing::HasSubstr;

int no_signal() {
  return 0;
}

struct Study : curvature::SmallCase<float> {
  std::optional<PrecisionCase> compare(const PrecisionCaseOptions& options,
                                       const std::function<int()>& stop = no_signal) {
    Log log = Log::silent();
    return measure_precision(context, settings, data, weights, options, stop, log);
  }

  // The gradient of some sequences.
  std::vector<double> gradient(bool autocast, curvature::Microbatches& microbatches) {
    curvature::GradientCalculator<float> calculator(context, settings.model, autocast, 4, weights);
    calculator.compute(microbatches, [](int64_t, int64_t) { return true; }).value();
    return golden::parameters_to_host(calculator.gradient());
  }

  // Noise vectors of all batches.
  std::vector<std::vector<double>> noise(bool autocast) {
    curvature::EpochMicrobatches epoch(data, 4);
    const std::vector<double> mean = gradient(autocast, epoch);
    std::vector<std::vector<double>> all;
    for (int64_t k = 0; k < data.batches(); ++k) {
      curvature::Microbatch batch;
      data.read_batch(k, 0, batch);
      curvature::StoredMicrobatches stored(batch.inputs, batch.targets, curvature::kSmallContext,
                                           4);
      all.push_back(gradient(autocast, stored));
      for (size_t j = 0; j < mean.size(); ++j) {
        all.back()[j] = static_cast<float>(all.back()[j]) - static_cast<float>(mean[j]);
      }
    }
    return all;
  }

  std::vector<double> forms(bool autocast, const std::vector<std::vector<double>>& directions) {
    const auto count = static_cast<int64_t>(directions.size());
    backend::Arena<float> lanes(context, weights.layout(), count);
    for (int64_t k = 0; k < count; ++k) {
      golden::parameters_from_host(directions[static_cast<size_t>(k)], lanes, 0, k);
    }
    curvature::EpochMicrobatches microbatches(data, 4);
    return curvature::make_quadratic_forms<float>(context, settings.model, {.autocast = autocast},
                                                  4, weights)
        ->measure(microbatches, lanes, count, [](int64_t, int64_t) { return true; })
        .value();
  }

  curvature::DataCase data{cache, settings, curvature::DataCaseKind::kSeen};
};

TEST(PrecisionCase, Float32DoesNotDifferFromItself) {
  Study study;
  const PrecisionCase result =
      study.compare({.noise_samples = std::nullopt, .random_samples = 3, .autocast = false})
          .value();
  EXPECT_EQ(result.epoch_gradient.error, 0);
  EXPECT_EQ(result.epoch_gradient.cosine, 1);
  ASSERT_EQ(result.noise.size(), 4U);
  for (size_t k = 0; k < 4; ++k) {
    for (const VectorDifference& difference : {result.gradients[k], result.noise[k]}) {
      EXPECT_EQ(difference.error, 0);
      EXPECT_EQ(difference.cosine, 1);
    }
    EXPECT_EQ(result.counterfactual[k], result.float32.noise[k].quadratic_form);
  }
  const Json json = to_json(result);
  for (const auto& [name, pair] : json["statistics"].items()) {
    EXPECT_EQ(pair["relative_difference"], 0) << name;
  }
  for (const auto& [name, value] : json["counterfactual"].items()) {
    EXPECT_EQ(value["from_float32"], 0) << name;
    EXPECT_EQ(value["from_autocast"], 0) << name;
  }
  for (const auto& [name, kept] : json["signs"].items()) EXPECT_EQ(kept["kept"], kept["of"]);
}

// Computes every number again from single gradients and forms.
TEST(PrecisionCase, MatchesSeparateMeasurements) {
  Study study;
  const PrecisionCase result =
      study.compare({.noise_samples = std::nullopt, .random_samples = 0}).value();
  const auto exact = study.noise(false), rounded = study.noise(true);
  const std::vector<double> forms = study.forms(false, exact);
  const std::vector<double> rounded_forms = study.forms(true, rounded);
  const std::vector<double> counterfactual = study.forms(true, exact);
  ASSERT_EQ(result.float32.noise.size(), 4U);
  for (size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(result.float32.noise[k].quadratic_form, forms[k]);
    EXPECT_EQ(result.autocast.noise[k].quadratic_form, rounded_forms[k]);
    EXPECT_EQ(result.counterfactual[k], counterfactual[k]);
    EXPECT_NE(counterfactual[k], forms[k]);
    EXPECT_NE(counterfactual[k], rounded_forms[k]);
    std::vector<double> distance = rounded[k];
    for (size_t j = 0; j < distance.size(); ++j) distance[j] -= exact[k][j];
    // Sums are in double, but differences are rounded to float.
    EXPECT_NEAR(result.noise[k].error, std::sqrt(dot(distance, distance) / dot(exact[k], exact[k])),
                1e-6 * result.noise[k].error);
    EXPECT_NEAR(result.noise[k].cosine,
                dot(exact[k], rounded[k]) /
                    std::sqrt(dot(exact[k], exact[k]) * dot(rounded[k], rounded[k])),
                1e-12);
  }
  EXPECT_GT(result.epoch_gradient.error, 0);
  EXPECT_LT(result.epoch_gradient.error, 0.2);
  EXPECT_GT(result.epoch_gradient.cosine, 0.98);
}

TEST(PrecisionCase, BothColumnsAreThoseOfTheAnalysis) {
  Study study;
  const PrecisionCase result = study.compare({.noise_samples = 3, .random_samples = 5}).value();
  for (const bool autocast : {false, true}) {
    curvature::MeasureOptions options;
    options.form.autocast = autocast;
    options.noise_samples = 3;
    options.random_samples = 5;
    const curvature::CaseResult expected = study.measure(study.data, options);
    const curvature::CaseResult& found = autocast ? result.autocast : result.float32;
    EXPECT_EQ(to_json(found), to_json(expected)) << autocast;
  }
}

TEST(PrecisionCase, DoesNotDependOnGroups) {
  Study study;
  const int64_t lane = curvature::direction_lane_bytes<float>(study.settings.model);
  PrecisionCaseOptions options = {.random_samples = 5};
  const Json expected = to_json(study.compare(options).value());
  for (const int64_t lanes : {2, 3, 6}) {
    options.direction_bytes = lanes * lane;
    EXPECT_EQ(to_json(study.compare(options).value()), expected) << lanes;
  }
  options.direction_bytes = 2 * lane - 1;
  expect_error(ErrorKind::kConfig, {"one noise sample", "--memory-gib"},
               [&] { study.compare(options); });
}

TEST(PrecisionCase, StopsAtAnyPoint) {
  Study study;
  const PrecisionCaseOptions options = {.noise_samples = 2, .random_samples = 2};
  int64_t asked = 0;
  study.compare(options, [&] { return ++asked, 0; });
  EXPECT_GT(asked, 20);
  for (int64_t after = 1; after <= asked; after += 5) {
    int64_t left = after;
    EXPECT_FALSE(study.compare(options, [&] { return --left > 0 ? 0 : 15; }).has_value());
    EXPECT_EQ(left, 0) << "it went on";
  }
}

// Planted numbers whose differences are known.
TEST(PrecisionCase, JsonHoldsDifferencesAndSigns) {
  PrecisionCase planted;
  planted.float32.gradient_norm = 2;
  planted.autocast.gradient_norm = 2.5;
  planted.float32.parameters = planted.autocast.parameters = 10;
  const auto sample = [](double form, double squared) {
    curvature::NoiseResult result;
    result.quadratic_form = form;
    result.squared_norm = squared;
    return result;
  };
  planted.float32.noise = {sample(4, 1), sample(-1, 1)};
  planted.autocast.noise = {sample(5, 4), sample(1, 4)};
  planted.counterfactual = {3, -1};
  planted.gradients =
      planted.noise = {{.error = 0.5, .cosine = 0.75}, {.error = 0.25, .cosine = 0.25}};
  const Json json = to_json(planted);
  const Json& statistics = json["statistics"];
  EXPECT_EQ(statistics["gradient_norm"]["relative_difference"], 0.25);
  EXPECT_EQ(statistics["noise_alignment"]["float32"], 1.5);
  EXPECT_EQ(statistics["noise_alignment"]["autocast"], 3);
  EXPECT_EQ(statistics["noise_alignment"]["relative_difference"], 1);
  EXPECT_EQ(statistics["normalized_alignment"]["relative_difference"], -0.5);
  EXPECT_EQ(statistics["mean_noise_norm"]["relative_difference"], 1);
  EXPECT_TRUE(statistics["loss"]["relative_difference"].is_null());
  EXPECT_TRUE(statistics["random_alignment"]["float32"].is_null());
  EXPECT_EQ(json["counterfactual"]["noise_alignment"],
            Json({{"value", 1.0}, {"from_float32", -0.5 / 1.5}, {"from_autocast", -2.0 / 3}}));
  // Along the float32 noise.
  EXPECT_EQ(json["counterfactual"]["normalized_alignment"]["value"], 1);
  EXPECT_EQ(json["vectors"]["noise"]["relative_error"], Json({{"mean", 0.375}, {"worst", 0.5}}));
  EXPECT_EQ(json["vectors"]["noise"]["cosine"], Json({{"mean", 0.5}, {"worst", 0.25}}));
  EXPECT_EQ(json["signs"]["noise"], Json({{"kept", 1}, {"of", 2}}));
  EXPECT_EQ(json["signs"]["counterfactual"], Json({{"kept", 2}, {"of", 2}}));
  EXPECT_EQ(json["noise"][1]["autocast"]["quadratic_form"], 1);
  EXPECT_EQ(json["noise"][1]["counterfactual"]["quadratic_form"], -1);
}

class PrecisionStudyTest : public ::testing::Test {
 protected:
  PrecisionOptions options() const {
    PrecisionOptions options;
    options.run = run_.run();
    options.checkpoints = {"epoch-005", "final"};
    options.random_samples = 3;
    options.threads = train::kThreads;
    options.output = run_.directory / "precision";
    return options;
  }

  PrecisionOutcome compare(const PrecisionOptions& options,
                           const std::function<int()>& stop = no_signal) const {
    Log log = Log::silent();
    return compare_precision(options, stop, log);
  }

  std::string arguments(const std::string& more) const {
    return fmt::format("compare-precision --run {} --output {} --threads 1 {}", run_.run().string(),
                       options().output.string(), more);
  }

  analysis::AnalyzedRun run_;
};

TEST_F(PrecisionStudyTest, Float32MatchesAnalyze) {
  PrecisionOptions study = options();
  study.data_case = curvature::DataCaseKind::kUnseen;
  compare(study);
  analysis::AnalysisOptions in_float32 = run_.options();
  in_float32.checkpoints = {"final"};
  in_float32.cases = {curvature::DataCaseKind::kUnseen};
  analysis::analyze(in_float32);
  const Json expected = read_json(run_.output() / "final.unseen.json");
  const Json file = read_json(study.output / kPrecisionFile);
  ASSERT_EQ(file["comparisons"].size(), 2);
  const Json& found = file["comparisons"][1];
  EXPECT_EQ(found["checkpoint"], expected["checkpoint"]);
  EXPECT_EQ(found["case"], "unseen");
  for (const auto& [name, value] : expected["statistics"].items()) {
    EXPECT_EQ(found["statistics"][name]["float32"], value) << name;
  }
  EXPECT_EQ(found["statistics"]["gradient_norm"]["float32"], expected["epoch"]["gradient_norm"]);
  ASSERT_EQ(found["noise"].size(), 4);
  for (size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(found["noise"][k]["float32"]["quadratic_form"],
              expected["noise"][k]["quadratic_form"]);
    EXPECT_EQ(found["noise"][k]["batch"], expected["noise"][k]["batch"]);
  }
}

TEST_F(PrecisionStudyTest, KeepsFinishedCheckpointsAndContinues) {
  const PrecisionOptions study = options();
  const Path file = study.output / kPrecisionFile;
  // Stops as soon as one checkpoint is finished.
  const PrecisionOutcome stopped =
      compare(study, [&] { return std::filesystem::exists(file) ? SIGTERM : 0; });
  EXPECT_FALSE(stopped.completed);
  EXPECT_EQ(stopped.measured, 1);
  const Json first = read_json(file)["comparisons"];
  ASSERT_EQ(first.size(), 1);
  const PrecisionOutcome outcome = compare(study);
  EXPECT_TRUE(outcome.completed);
  EXPECT_EQ(outcome.measured, 1);
  EXPECT_EQ(outcome.reused, 1);
  EXPECT_EQ(read_json(file)["comparisons"][0], first[0]);
  const std::string bytes = read_file(file);
  EXPECT_EQ(compare(study).reused, 2);
  EXPECT_EQ(read_file(file), bytes);
  // The same weights with another name.
  PrecisionOptions other = study;
  other.checkpoints = {"epoch-010"};
  EXPECT_EQ(compare(other).reused, 1);
  EXPECT_EQ(read_json(file)["comparisons"][1]["checkpoint"]["names"],
            Json::array({"final", "epoch-010"}));
}

TEST_F(PrecisionStudyTest, ACheckpointThatChangesDuringTheStudy) {
  const PrecisionOptions study = options();
  const auto change = [&] {
    if (std::filesystem::exists(study.output / kPrecisionFile)) {
      std::filesystem::copy_file(run_.run() / "epoch-005.safetensors",
                                 run_.run() / "final.safetensors",
                                 std::filesystem::copy_options::overwrite_existing);
    }
    return 0;
  };
  expect_error(ErrorKind::kData, {"final.safetensors", "changed during the analysis"},
               [&] { compare(study, change); });
  EXPECT_EQ(read_json(study.output / kPrecisionFile)["comparisons"].size(), 1);
}

TEST_F(PrecisionStudyTest, AnAliasGivesThePlaceInTheRun) {
  PrecisionOptions study = options();
  study.checkpoints = {"final"};
  compare(study);
  const Path file = study.output / kPrecisionFile;
  Json json = read_json(file);
  const Json checkpoint = json["comparisons"][0]["checkpoint"];
  for (const char* key : {"epoch", "step", "tokens"}) {
    json["comparisons"][0]["checkpoint"][key] = nullptr;
  }
  write_json(file, json);
  EXPECT_EQ(compare(study).reused, 1);
  EXPECT_EQ(read_json(file)["comparisons"][0]["checkpoint"], checkpoint);
}

TEST_F(PrecisionStudyTest, RefusesOtherSettingsFilesAndWriters) {
  PrecisionOptions study = options();
  study.checkpoints = {"final"};
  compare(study);
  const auto expect_refusal = [&](const PrecisionOptions& changed, const std::string& part) {
    expect_error(ErrorKind::kConfig, {part, "precision.json"}, [&] { compare(changed); });
  };
  PrecisionOptions changed = study;
  changed.seed = 43;
  expect_refusal(changed, "analysis.seed (there 42, now 43)");
  changed = study;
  changed.data_case = curvature::DataCaseKind::kUnseen;
  expect_refusal(changed, "case.name (there \"seen\", now \"unseen\")");
  changed = study;
  changed.autocast = false;
  expect_refusal(changed, "analysis.amp (there true, now false)");
  changed = study;
  changed.memory_gib = 1;
  EXPECT_EQ(compare(changed).reused, 1);
  changed.output = run_.run();
  expect_error(ErrorKind::kConfig, {"holds something else"}, [&] { compare(changed); });
  EXPECT_FALSE(std::filesystem::exists(run_.run() / kPrecisionFile));
  const FileLock lock(study.output / "lock", "a test");
  expect_error(ErrorKind::kIo, {"comparison of precisions into", "is refused"},
               [&] { compare(study); });
}

TEST_F(PrecisionStudyTest, TheCommandPrintsATable) {
  const ProgramResult result = run_saddle(arguments(
      "--checkpoint final --data-case seen --noise-samples all --random-samples 2 --seed 7 "
      "--hvp-batch-size 3 --memory-gib 0.5"));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const Json file = read_json(options().output / kPrecisionFile);
  EXPECT_EQ(file["identity"]["analysis.seed"], 7);
  EXPECT_EQ(file["identity"]["analysis.hvp_batch_size"], 3);
  EXPECT_EQ(file["identity"]["analysis.noise_samples"], "all");
  EXPECT_EQ(file["comparisons"][0]["random"].size(), 2);
  EXPECT_EQ(precision_text(file["comparisons"]),
            result.output.substr(0, precision_text(file["comparisons"]).size()));
  EXPECT_THAT(result.output, HasSubstr("final, seen: 4 noise samples, 2 random directions"));
  EXPECT_THAT(result.output, HasSubstr("signs kept: noise 4 of 4"));
  EXPECT_THAT(result.output, HasSubstr("1 checkpoints compared, 0 reused"));
}

TEST_F(PrecisionStudyTest, BadCommandLines) {
  const auto expect_failure = [&](const std::string& more, ErrorKind kind,
                                  const std::string& part) {
    const ProgramResult result = run_saddle(arguments(more));
    EXPECT_EQ(result.exit_code, exit_code(kind)) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr(part));
  };
  expect_failure("", ErrorKind::kUsage, "--checkpoint");
  expect_failure("--checkpoint final --noise-samples some", ErrorKind::kUsage, "'some'");
  expect_failure("--checkpoint final --noise-samples 0", ErrorKind::kUsage, "--noise-samples is 0");
  expect_failure("--checkpoint final --random-samples -1", ErrorKind::kUsage,
                 "--random-samples: '-1' is not");
  expect_failure("--checkpoint final --data-case both", ErrorKind::kUsage, "--data-case");
  expect_failure("--checkpoint final --memory-gib 0", ErrorKind::kUsage,
                 "--memory-gib: '0' is not");
  expect_failure("--checkpoint epoch-001", ErrorKind::kConfig, "epoch-001");
  EXPECT_FALSE(std::filesystem::exists(options().output));
}

}  // namespace
}  // namespace saddle::precision
