// Axes, labels and figures of values that are hard to draw.
#include "report/charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "plot/figure_writer.h"
#include "plot/gnuplot.h"
#include "report/columns.h"
#include "report/figures.h"
#include "report/svg_chart.h"
#include "support/temporary_directory.h"

namespace saddle::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

using ReportedRun = report::Run;  // ::testing::Test also has a Run

ReportedRun run_with(const std::vector<double>& losses, const std::vector<double>& distances = {}) {
  ReportedRun run;
  run.name = "run";
  for (size_t i = 0; i < losses.size(); ++i) {
    run.train.push_back({1000.0 * static_cast<double>(i + 1), losses[i]});
  }
  for (size_t i = 0; i < distances.size(); ++i) {
    run.consensus.push_back({1000.0 * static_cast<double>(i + 1), distances[i]});
  }
  return run;
}

// Draws every figure, and fails if gnuplot fails; returns the script.
std::string drawn(const std::vector<ReportedRun>& runs) {
  const TemporaryDirectory directory;
  const plot::FigureSet figures = figure_set(make_charts(runs), runs);
  EXPECT_FALSE(plot::draw_figures(directory / "figures", figures).empty());
  return figures.script;
}

TEST(Charts, DistancesOfZeroAreNotShownOnALogarithmicAxis) {
  const std::vector<ReportedRun> zero = {run_with({5, 4}, {0, 0})};
  const Chart none = make_charts(zero).at(3);
  EXPECT_THAT(none.curves, SizeIs(0));
  EXPECT_EQ(none.least, 0.1);
  EXPECT_EQ(none.most, 1);
  EXPECT_THAT(svg_figure(none, zero), HasSubstr("No run has values"));
  EXPECT_THAT(drawn(zero), HasSubstr("no values"));
  const std::vector<ReportedRun> both = {run_with({5, 4}, {0, 0}), run_with({5, 4}, {0, 2})};
  const Chart one = make_charts(both).at(3);
  ASSERT_THAT(one.curves, SizeIs(1));
  EXPECT_EQ(one.curves[0].run, 1u);
  EXPECT_LT(one.least, 2);
  EXPECT_GT(one.most, 2);
  EXPECT_THAT(logarithmic_ticks(one.least, one.most), ElementsAre(2));
  drawn(both);
}

TEST(Charts, ValuesThatDifferByRoundingGetAnAxisWithDifferentLabels) {
  const std::vector<ReportedRun> runs = {run_with({3.5, std::nextafter(3.5, 4.0), 3.5})};
  const Chart chart = make_charts(runs).front();
  EXPECT_GT(chart.most - chart.least, 3e-4);
  EXPECT_LT(chart.most - chart.least, 4e-4);
  const std::vector<double> places = ticks(chart.least, chart.most, 5);
  EXPECT_GE(places.size(), 3u);
  EXPECT_LE(places.size(), 9u);
  drawn(runs);
  EXPECT_THAT(ticks(1, std::nextafter(1.0, 2.0), 5), SizeIs(0));
  EXPECT_THAT(ticks(2, 2, 5), SizeIs(0));
}

TEST(Charts, GnuplotDrawsValuesThatAreCloseTogetherOrFarApart) {
  // Six digits are not enough to distinguish these limits.
  drawn({run_with({1000.0001, 1000.0002, 1000.0003})});
  drawn({run_with({0, 0}, {5e-324, 1.7e308}), run_with({1.7e308, -1.7e308}, {1e-299, 1e299})});
}

TEST(Charts, EarlyValuesMayBeAboveTheAxisButNotBelow) {
  std::vector<double> losses(100, 4.0);
  losses[0] = 90;
  losses[1] = 1;
  const Chart chart = make_charts({run_with(losses)}).front();
  EXPECT_LT(chart.least, 1);
  EXPECT_LT(chart.most, 5);
  EXPECT_EQ(chart.outside, 1);
  // In a short run next to a long one, no value is early.
  const Chart two = make_charts({run_with(losses), run_with({7, 6})}).front();
  EXPECT_GT(two.most, 7);
  EXPECT_EQ(two.outside, 1);
}

TEST(Charts, AnIsolatedPointIsDrawn) {
  EXPECT_THAT(drawn({run_with({5})}), HasSubstr("with linespoints"));
  EXPECT_THAT(drawn({run_with({NAN, 5, NAN, 4, 3})}), HasSubstr("with linespoints"));
  EXPECT_THAT(drawn({run_with({5, 4, NAN, 4, 3})}), Not(HasSubstr("with linespoints")));
}

TEST(Charts, HugeWholeNumbersStayNumbers) {
  ReportedRun run = run_with({5});
  run.train_loss = 1e300;
  run.tokens = 123456789;
  const Json row = rows_json({run})[0];
  EXPECT_EQ(row["train_loss"], 1e300);
  EXPECT_TRUE(row["tokens"].is_number_integer());
}

}  // namespace
}  // namespace saddle::report
