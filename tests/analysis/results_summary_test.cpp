// The table of an analysis for people.
#include "analysis/results_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace saddle::analysis {
namespace {

Json case_of(std::vector<std::string> names, double eigenvalue) {
  return {{"checkpoint", {{"names", std::move(names)}, {"tokens", 1080}}},
          {"case", "seen"},
          {"epoch", {{"loss", 3.25}, {"gradient_norm", 0.5}}},
          {"statistics",
           {{"mean_noise_norm", 0.25},
            {"noise_alignment", 0.125},
            {"normalized_alignment", nullptr},
            {"random_alignment", -2}}},
          {"spectrum",
           {{"top_eigenvalues", Json::array({{{"value", eigenvalue}, {"residual", 0.125}}})}}}};
}

std::vector<std::string> lines_of(const std::string& table) {
  std::istringstream text(table);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

// The names of the first checkpoint are the longest.
TEST(SummaryText, ColumnsAreAlignedWhateverTheNames) {
  const auto lines =
      lines_of(summary_text(Json::array({case_of({"epoch-010", "final"}, 7), case_of({"x"}, 5)})));
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0].size(), lines[1].size());
  EXPECT_EQ(lines[0].size(), lines[2].size());
  EXPECT_EQ(lines[0].find("  case"), lines[1].find("  seen"));
  EXPECT_EQ(lines[0].find("  case"), lines[2].find("  seen"));
  EXPECT_THAT(lines[1], testing::StartsWith("epoch-010 final  seen"));
  EXPECT_THAT(lines[1], testing::HasSubstr(" 1080    3.2500         0.5        0.25"));
  EXPECT_THAT(lines[1], testing::EndsWith("-2.0000e+00"));
  EXPECT_EQ(lines[4], "epoch-010 final  seen    7 ± 0.1");
  EXPECT_EQ(lines[5], "x                seen    5 ± 0.1");
}

}  // namespace
}  // namespace saddle::analysis
