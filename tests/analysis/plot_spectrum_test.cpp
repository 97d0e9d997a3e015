// Figures of planted eigenvalues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "analysis/figures.h"
#include "analysis/figures_data.h"
#include "analysis/figures_script.h"
#include "analysis/results_directory.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle::analysis {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

Json planted_case(int64_t tokens, const std::string& kind, const Json& spectrum) {
  Json content = {
      {"format", kAnalysisFormat},
      {"checkpoint",
       {{"names", {fmt::format("at_{}", tokens)}}, {"weights_sha256", "0"}, {"tokens", tokens}}},
      {"case", kind},
      {"epoch", Json::object()},
      {"statistics", Json::object()},
      {"identity", Json::object()}};
  if (!spectrum.is_null()) content["spectrum"] = spectrum;
  return content;
}

Json planted_spectrum(const std::vector<double>& values) {
  Json top = Json::array();
  for (const double value : values) top.push_back({{"value", value}, {"residual", 0.0}});
  return {{"top_eigenvalues", top}};
}

// Two start vectors whose quadratures have their nodes from -1 to 9.
Json planted_density() {
  return Json::array({{{"nodes", {-1.0, 0.0, 9.0}}, {"weights", {0.25, 0.74, 0.01}}},
                      {{"nodes", {0.0, 8.0}}, {"weights", {0.5, 0.5}}}});
}

TEST(PlotSpectrum, EigenvaluesAreSeparateBlocks) {
  const FigureData data = figure_data(Json::array(
      {planted_case(100, "seen", planted_spectrum({5, 2.5})),
       planted_case(200, "seen", planted_spectrum({4})), planted_case(200, "unseen", Json())}));
  EXPECT_THAT(figure_data_text(data),
              HasSubstr("# eigenvalues seen: tokens, largest, second, ...\n100 5 2.5\n200 4 NaN\n"
                        "\n\n# eigenvalues unseen: tokens, largest, second, ...\nNaN NaN\n"));
  EXPECT_THAT(figure_names(data), Contains("largest_eigenvalues"));
  EXPECT_THAT(figure_names(data), Not(Contains("spectral_density")));
  EXPECT_THAT(figure_script(data), HasSubstr("index 3 using ($1/1):2"));
  EXPECT_THAT(figure_script(data), Not(HasSubstr("spectral_density")));
}

TEST(PlotSpectrum, WithoutASpectrumNothingIsAdded) {
  const FigureData data = figure_data(Json::array({planted_case(100, "seen", Json())}));
  EXPECT_THAT(figure_data_text(data), Not(HasSubstr("eigenvalue")));
  EXPECT_THAT(figure_names(data), Not(Contains("largest_eigenvalues")));
  EXPECT_THAT(figure_script(data), Not(HasSubstr("eigenvalue")));
}

TEST(PlotSpectrum, DensityIsThatOfTheLastCheckpointAndSumsToOne) {
  const Json last = {{"density", planted_density()}};
  const Json other = {{"density", Json::array({{{"nodes", {100.0}}, {"weights", {1.0}}}})}};
  const SpectrumFigures figures = spectrum_figures(
      Json::array({planted_case(100, "seen", other), planted_case(200, "seen", last)}));
  EXPECT_EQ(figures.seen_density.checkpoint, "at_200");
  EXPECT_TRUE(figures.unseen_density.curve.empty());
  EXPECT_DOUBLE_EQ(figures.deviation, 0.1);
  const auto& curve = figures.seen_density.curve;
  const double step = curve[1].first - curve[0].first;
  double sum = 0, mean = 0;
  for (const auto& [value, height] : curve) {
    if (!std::isfinite(height)) continue;
    sum += height * step;
    mean += value * height * step;
  }
  // The curve lacks the tails below the smallest density drawn, half the peak of a weight of 0.005.
  EXPECT_NEAR(sum, 1, 0.01);
  EXPECT_NEAR(mean, (0.25 * -1 + 0.01 * 9 + 0.5 * 8) / 2, 0.02);
}

TEST(PlotSpectrum, ADamagedSpectrumIsRefused) {
  Json content = planted_case(100, "seen", {{"density", Json::array({Json::object()})}});
  expect_error(ErrorKind::kData, {"spectrum"}, [&] { figure_data(Json::array({content})); });
}

TEST(PlotSpectrum, FiguresAreDrawn) {
  if (std::system("gnuplot --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "gnuplot is not installed here";
  }
  TemporaryDirectory directory;
  for (const std::string kind : {"seen", "unseen"}) {
    Json spectrum = planted_spectrum({3, 2, 1});
    spectrum["density"] = planted_density();
    write_json(directory / fmt::format("at_100.{}.json", kind), planted_case(100, kind, spectrum));
  }
  Log log = Log::silent();
  EXPECT_EQ(draw_figures({.output = directory.path()}, log).size(), 12);
  for (const char* name : {"largest_eigenvalues", "spectral_density"}) {
    const std::string file = (directory / "figures" / name).string();
    EXPECT_TRUE(read_file(file + ".png").starts_with("\x89PNG\r\n\x1a\n")) << name;
    EXPECT_TRUE(read_file(file + ".pdf").starts_with("%PDF-")) << name;
  }
}

}  // namespace
}  // namespace saddle::analysis
