#include "plot/figure_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace saddle::plot {
namespace {

using testing::HasSubstr;
using testing::Not;

// In gnuplot's double quotes, backslashes begin escapes and backquotes run a command.
TEST(GnuplotQuoted, TextCannotLeaveItsQuotes) {
  EXPECT_EQ(gnuplot_quoted("a \"b\" \\n `date` c\nd"), R"(a \"b\" \\n \`date\` c d)");
}

TEST(GnuplotNumber, IsANumberOrNaN) {
  EXPECT_EQ(gnuplot_number(0.1), "0.1");
  EXPECT_EQ(gnuplot_number(std::numeric_limits<double>::infinity()), "NaN");
  EXPECT_EQ(gnuplot_number(-std::numeric_limits<double>::quiet_NaN()), "NaN");
}

TEST(TokenUnit, AxesBeginToCountInTheUnitAtTwoOfIt) {
  EXPECT_EQ(token_unit(19'999).tokens, 1);
  EXPECT_EQ(token_unit(20'000).tokens, 1e3);
  EXPECT_EQ(token_unit(1'999'999).tokens, 1e3);
  EXPECT_EQ(token_unit(2'000'000).tokens, 1e6);
  EXPECT_EQ(token_unit(2e9).tokens, 1e9);
}

std::string logarithmic(double least, double most) {
  FigureWriter writer("tokens");
  const size_t before = writer.text().size();
  writer.logarithmic_axis(least, most);
  return writer.text().substr(before);
}

// The axis is wider than the values by a factor of 1.2 on both sides.
TEST(FigureWriter, LogarithmicAxesHaveLabelsInsideTheirRange) {
  EXPECT_THAT(logarithmic(1.2, 10), HasSubstr("set yrange [1:12]\n"
                                              "set ytics ('1' 1, '1.5' 1.5, '2' 2, '3' 3, '5' 5, "
                                              "'7' 7, '10' 10)\n"));
  EXPECT_THAT(logarithmic(0.12, 50),
              HasSubstr("set ytics ('0.1' 0.1, '0.2' 0.2, '0.5' 0.5, '1' 1, '2' 2, '5' 5, '10' 10, "
                        "'20' 20, '50' 50)\n"));
  EXPECT_THAT(logarithmic(0.0012, 1000), HasSubstr("'0.001' 0.001, '0.01' 0.01, '0.1' 0.1, '1' 1, "
                                                   "'10' 10, '100' 100, '1000' 1000)\n"));
}

TEST(FigureWriter, AxesOfNothingAreLeftToGnuplot) {
  EXPECT_THAT(logarithmic(0, 1), Not(HasSubstr("yrange")));
  EXPECT_THAT(logarithmic(1, std::numeric_limits<double>::infinity()), Not(HasSubstr("yrange")));
}

}  // namespace
}  // namespace saddle::plot
