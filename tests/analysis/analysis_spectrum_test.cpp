// Eigenvalues and density in the results of an analysis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/analyzed_run.h"
#include "base/exit_codes.h"
#include "support/expect_error.h"
#include "support/run_program.h"

namespace saddle::analysis {
namespace {

using ::testing::HasSubstr;

class AnalyzedSpectrum : public ::testing::Test {
 protected:
  AnalyzedSpectrum() {
    options_.checkpoints = {"final"};
    options_.cases = {curvature::DataCaseKind::kSeen};
  }

  Json content() const { return read_json(run_.output() / "final.seen.json"); }

  AnalyzedRun run_;
  AnalysisOptions options_ = run_.options();
};

TEST_F(AnalyzedSpectrum, IsInTheCaseFile) {
  analyze(options_);
  const Json without = content();
  EXPECT_FALSE(without.contains("spectrum"));
  for (const auto& [key, value] : without["identity"].items()) {
    EXPECT_THAT(key, ::testing::Not(HasSubstr("spectrum"))) << value;
  }
  std::filesystem::remove_all(run_.output());
  options_.spectrum = {.top_eigenvalues = 2, .density = true, .starts = 3, .steps = 5};
  analyze(options_);
  Json with = content();
  ASSERT_EQ(with["spectrum"]["top_eigenvalues"].size(), 2);
  const Json& top = with["spectrum"]["top_eigenvalues"];
  EXPECT_GT(top[0]["value"], top[1]["value"]);
  ASSERT_EQ(with["spectrum"]["density"].size(), 3);
  const Json& first = with["spectrum"]["density"][0];
  ASSERT_EQ(first["nodes"].size(), 5);
  EXPECT_EQ(first["nodes"][4], top[0]["value"]);
  EXPECT_EQ(first["residuals"][4], top[0]["residual"]);
  double weights = 0;
  for (const Json& weight : first["weights"]) weights += weight.get<double>();
  EXPECT_NEAR(weights, 1, 1e-14);
  EXPECT_THAT(read_file(run_.output() / "summary.csv"),
              HasSubstr("," + top[0]["value"].dump() + "\n"));
  // Everything else is the same as without it.
  for (const auto& [key, value] : without.items()) {
    if (key == "identity") continue;
    EXPECT_EQ(with[key], value) << key;
  }
}

TEST_F(AnalyzedSpectrum, AnotherSettingIsRefusedByName) {
  options_.spectrum = {.top_eigenvalues = 1, .density = true, .starts = 1, .steps = 3};
  analyze(options_);
  EXPECT_EQ(analyze(options_).reused, 1);
  const auto expect_refusal = [this](const curvature::SpectrumOptions& spectrum,
                                     const std::string& part) {
    AnalysisOptions changed = options_;
    changed.spectrum = spectrum;
    expect_error(ErrorKind::kConfig, {part}, [&] { analyze(changed); });
  };
  expect_refusal({.top_eigenvalues = 2, .density = true, .starts = 1, .steps = 3},
                 "analysis.top_eigenvalues (there 1, now 2)");
  expect_refusal({.top_eigenvalues = 1, .density = true, .starts = 2, .steps = 3},
                 "analysis.spectrum_starts (there 1, now 2)");
  expect_refusal({.top_eigenvalues = 1, .density = true, .starts = 1, .steps = 4},
                 "analysis.lanczos_steps (there 3, now 4)");
  expect_refusal({.top_eigenvalues = 1, .starts = 1, .steps = 3},
                 "analysis.spectrum (there true, now false)");
  expect_refusal({}, "analysis.top_eigenvalues (there 1, now missing)");
}

TEST_F(AnalyzedSpectrum, MayBeRequestedAlone) {
  const std::string command = fmt::format(
      "analyze --run {} --output {} --threads 1 --checkpoints final --data-case seen "
      "--noise-samples 0 --random-samples 0 ",
      run_.run().string(), run_.output().string());
  EXPECT_EQ(run_saddle(command).exit_code, exit_code(ErrorKind::kUsage));
  const ProgramResult few = run_saddle(command + "--top-eigenvalues 3 --lanczos-steps 2");
  EXPECT_EQ(few.exit_code, exit_code(ErrorKind::kUsage));
  EXPECT_THAT(few.errors, HasSubstr("--lanczos-steps is 2"));
  const ProgramResult little = run_saddle(command + "--spectrum --memory-gib 1e-5");
  EXPECT_EQ(little.exit_code, exit_code(ErrorKind::kConfig));
  EXPECT_THAT(little.errors, HasSubstr("30 Lanczos steps keep"));
  EXPECT_FALSE(std::filesystem::exists(run_.output()));

  const ProgramResult result =
      run_saddle(command + "--top-eigenvalues 2 --spectrum --lanczos-steps 4 --spectrum-starts 1");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  const Json spectrum = content()["spectrum"];
  ASSERT_EQ(spectrum["top_eigenvalues"].size(), 2);
  EXPECT_EQ(spectrum["density"].size(), 1);
  EXPECT_THAT(result.output, HasSubstr("largest eigenvalues"));
  EXPECT_THAT(
      result.output,
      HasSubstr(fmt::format("{:.5g} ± ", spectrum["top_eigenvalues"][0]["value"].get<double>())));
}

}  // namespace
}  // namespace saddle::analysis
