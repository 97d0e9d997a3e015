#include "base/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace saddle {
namespace {

TEST(Clock, DurationsForPeople) {
  EXPECT_EQ(human_duration(0), "0.0 s");
  EXPECT_EQ(human_duration(3.24), "3.2 s");
  EXPECT_EQ(human_duration(59.94), "59.9 s");
  EXPECT_EQ(human_duration(59.96), "1 min 00 s");
  EXPECT_EQ(human_duration(245), "4 min 05 s");
  EXPECT_EQ(human_duration(3599.4), "59 min 59 s");
  EXPECT_EQ(human_duration(3599.6), "1 h 00 min");
  EXPECT_EQ(human_duration(7800), "2 h 10 min");
  EXPECT_EQ(human_duration(360000), "100 h 00 min");
  EXPECT_EQ(human_duration(-1), "n/a");
  EXPECT_EQ(human_duration(std::numeric_limits<double>::infinity()), "n/a");
  EXPECT_EQ(human_duration(std::numeric_limits<double>::quiet_NaN()), "n/a");
}

TEST(Clock, CountsForPeople) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(3.25), "3.2");
  EXPECT_EQ(human_count(950), "950");
  EXPECT_EQ(human_count(999.4), "999");
  EXPECT_EQ(human_count(999.6), "1.0 k");
  EXPECT_EQ(human_count(12345), "12.3 k");
  EXPECT_EQ(human_count(999960), "1.0 M");
  EXPECT_EQ(human_count(20403520), "20.4 M");
  EXPECT_EQ(human_count(1.5e9), "1.5 G");
  EXPECT_EQ(human_count(2.5e15), "2500.0 T");
  EXPECT_EQ(human_count(-12345), "-12.3 k");
  EXPECT_EQ(human_count(std::numeric_limits<double>::quiet_NaN()), "n/a");
}

TEST(Clock, TimestampsAreInUtc) {
  EXPECT_THAT(utc_timestamp(),
              ::testing::MatchesRegex("20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:"
                                      "[0-6][0-9]Z"));
}

TEST(Clock, StopwatchRuns) {
  Stopwatch watch;
  const double first = watch.seconds();
  EXPECT_GE(first, 0);
  EXPECT_GE(watch.seconds(), first);
}

}  // namespace
}  // namespace saddle
