// Figures of planted cases: their numbers, and the files that gnuplot makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "analysis/figures.h"
#include "analysis/figures_data.h"
#include "analysis/figures_script.h"
#include "analysis/results_directory.h"
#include "base/exit_codes.h"
#include "support/expect_error.h"
#include "support/run_program.h"
#include "support/temporary_directory.h"

namespace saddle::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Json planted_case(int64_t tokens, const std::string& kind, double normalized) {
  return {{"format", kAnalysisFormat},
          {"checkpoint",
           {{"names", {fmt::format("at-{}", tokens)}},
            {"weights_sha256", "0"},
            {"tokens", tokens < 0 ? Json(nullptr) : Json(tokens)}}},
          {"case", kind},
          {"epoch", {{"loss", 3.5}, {"gradient_norm", 0.5}}},
          {"statistics",
           {{"noise_alignment", json_number(normalized / 4)},
            {"normalized_alignment", json_number(normalized)},
            {"mean_noise_norm", 0.25},
            {"mean_gradient_norm", 0.75},
            {"random_alignment", 1e-6}}},
          {"identity", Json::object()}};
}

class PlotAnalysis : public ::testing::Test {
 protected:
  PlotAnalysis() {
    make_directories(output_);
    plant(1000, "seen", 0.5);
    plant(2000, "seen", 0);
    plant(3000, "seen", 0.25);
    plant(1000, "unseen", -0.5);
    plant(2000, "unseen", std::nan(""));
    plant(3000, "unseen", 0.125);
  }

  void plant(int64_t tokens, const std::string& kind, double normalized) {
    write_json(output_ / fmt::format("at-{}.{}.json", tokens, kind),
               planted_case(tokens, kind, normalized));
  }
  FigureData data() const { return figure_data(ResultsDirectory::cases(output_)); }

  TemporaryDirectory directory_;
  Path output_ = directory_ / "analysis";
};

TEST_F(PlotAnalysis, TheLogarithmicPanelOmitsNonPositiveValues) {
  EXPECT_EQ(data().seen.not_positive, 1);    // the zero
  EXPECT_EQ(data().unseen.not_positive, 1);  // the negative one, not the one without a value
  std::istringstream text(figure_data_text(data()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("#")) lines.push_back(line);
  }
  EXPECT_THAT(
      lines, ElementsAre(
                 "1000 0.5 0.5 0.125 1e-06 0.5 0.75 0.25", "2000 0 NaN 0 1e-06 0.5 0.75 0.25",
                 "3000 0.25 0.25 0.0625 1e-06 0.5 0.75 0.25", "", "",
                 "1000 -0.5 NaN -0.125 1e-06 0.5 0.75 0.25", "2000 NaN NaN NaN 1e-06 0.5 0.75 0.25",
                 "3000 0.125 0.125 0.03125 1e-06 0.5 0.75 0.25", "", "", "NaN NaN"));
  EXPECT_THAT(figure_script(data()),
              HasSubstr("2 non-positive values are omitted: 1 seen, 1 unseen"));
}

TEST_F(PlotAnalysis, WithoutNonPositiveValuesThereIsNoNote) {
  plant(2000, "seen", 1);
  plant(1000, "unseen", 1);
  EXPECT_THAT(figure_script(data()), Not(HasSubstr("omitted")));
}

TEST_F(PlotAnalysis, CasesAreInTheOrderOfTokens) {
  plant(900, "seen", 1);
  EXPECT_EQ(data().seen.points.front().tokens, 900);
  EXPECT_EQ(data().seen.points.back().tokens, 3000);
}

TEST_F(PlotAnalysis, WeightsWithoutTokensAreCounted) {
  plant(-1, "seen", 1);
  EXPECT_EQ(data().without_tokens, 1);
  EXPECT_EQ(data().seen.points.size(), 3);
}

TEST_F(PlotAnalysis, TrainingNormsAreThoseOfTrainLines) {
  const Path metrics = directory_ / "metrics.jsonl";
  std::string text = R"({"type":"evaluation","tokens":5,"loss":3})"
                     "\n";
  for (int i = 1; i <= 10; ++i) {
    text += fmt::format(R"({{"type":"train","tokens":{},"grad_norm":{}}})", 100 * i, i) + "\n";
  }
  text += R"({"type":"train","tokens":1100,"grad_norm":null})"
          "\n"
          R"({"type":"train","tok)";
  write_file_atomically(metrics, text);
  EXPECT_EQ(training_norms(metrics, 100).size(), 10);
  EXPECT_THAT(training_norms(metrics, 4),
              ElementsAre(std::pair(100.0, 1.0), std::pair(400.0, 4.0), std::pair(700.0, 7.0),
                          std::pair(1000.0, 10.0)));
}

TEST_F(PlotAnalysis, ADamagedCaseIsRefused) {
  const auto refused = [this](const Json& damage, const char* word) {
    Json content = planted_case(4000, "seen", 0.5);
    content.merge_patch(damage);
    write_json(output_ / "at-4000.seen.json", content);
    expect_error(ErrorKind::kData, {"at-4000.seen.json", word},
                 [this] { ResultsDirectory::cases(output_); });
  };
  refused({{"checkpoint", {{"names", {1}}}}}, "checkpoint");
  refused({{"checkpoint", {{"names", "final"}}}}, "checkpoint");
  refused({{"spectrum", "x"}}, "spectrum");
  refused({{"spectrum", {{"top_eigenvalues", {3}}}}}, "spectrum");
  refused({{"spectrum", {{"density", {{{"nodes", {1}}, {"weights", Json::array()}}}}}}},
          "spectrum");
}

TEST_F(PlotAnalysis, AnEmptyDirectoryIsRefused) {
  Log log = Log::silent();
  make_directories(directory_ / "empty");
  expect_error(ErrorKind::kData, {"no finished case"},
               [&] { draw_figures({.output = directory_ / "empty"}, log); });
  expect_error(ErrorKind::kIo, {"nowhere"},
               [&] { draw_figures({.output = directory_ / "nowhere"}, log); });
}

TEST_F(PlotAnalysis, FiguresArePngAndPdf) {
  if (std::system("gnuplot --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "gnuplot is not installed here";
  }
  write_file_atomically(directory_ / "metrics.jsonl",
                        R"({"type":"train","tokens":500,"grad_norm":1.5})"
                        "\n"
                        R"({"type":"train","tokens":2500,"grad_norm":0.5})"
                        "\n");
  const ProgramResult result = run_saddle("plot-analysis --output " + output_.string() +
                                          " --training-norms --run " + directory_.path().string());
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  for (const std::string& name : figure_names(data())) {
    const Path file = output_ / "figures" / name;
    EXPECT_THAT(result.output, HasSubstr(file.string() + ".png\n"));
    EXPECT_TRUE(read_file(file.string() + ".png").starts_with("\x89PNG\r\n\x1a\n")) << name;
    EXPECT_TRUE(read_file(file.string() + ".pdf").starts_with("%PDF-")) << name;
  }
  EXPECT_THAT(read_file(output_ / "figures" / "figures.dat"), HasSubstr("\n500 1.5\n2500 0.5\n"));
  for (const auto& entry : std::filesystem::directory_iterator(output_ / "figures")) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
  }
}

// gnuplot is ended by the limit, and knows nothing of this program's exit codes.
TEST_F(PlotAnalysis, AFileSizeLimitIsAnErrorOfFiles) {
  if (std::system("gnuplot --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "gnuplot is not installed here";
  }
  const ProgramResult result =
      run_saddle("version >/dev/null; ulimit -f 16; '" SADDLE_PROGRAM "' plot-analysis --output " +
                 output_.string());
  EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kIo)) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("File too large"));
}

// If every value is missing there is still a figure.
TEST_F(PlotAnalysis, FiguresWithoutValues) {
  if (std::system("gnuplot --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "gnuplot is not installed here";
  }
  for (const int64_t tokens : {1000, 2000, 3000}) {
    plant(tokens, "seen", -1);
    std::filesystem::remove(output_ / fmt::format("at-{}.unseen.json", tokens));
  }
  Log log = Log::silent();
  EXPECT_EQ(draw_figures({.output = output_}, log).size(), 8);
}

TEST_F(PlotAnalysis, WithoutGnuplotItsPackageIsNamed) {
  const ProgramResult result =
      run_saddle("version >/dev/null; PATH=/nowhere '" SADDLE_PROGRAM "' plot-analysis --output " +
                 output_.string());
  EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kDevice)) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("install the package gnuplot-nox"));
}

}  // namespace
}  // namespace saddle::analysis
