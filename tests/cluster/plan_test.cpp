// Assignments and times, against examples worked out by hand.
#include "cluster/plan.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace saddle::cluster {
namespace {

using Dealt = std::vector<std::vector<int64_t>>;

TEST(RoundRobin, DealsInTurn) {
  EXPECT_EQ(round_robin(7, 3), (Dealt{{0, 3, 6}, {1, 4}, {2, 5}}));
  EXPECT_EQ(round_robin(2, 5), (Dealt{{0}, {1}}));
  EXPECT_EQ(round_robin(3, 1), (Dealt{{0, 1, 2}}));
  expect_error(ErrorKind::kUsage, {"--jobs is 0"}, [] { round_robin(3, 0); });
}

TEST(WallTime, TwiceTheEstimatePlusHalfAnHourInWholeHours) {
  EXPECT_EQ(wall_seconds(1), 3600);         // 30 min 2 s
  EXPECT_EQ(wall_seconds(900), 3600);       // exactly 1 h
  EXPECT_EQ(wall_seconds(901), 2 * 3600);   // 1 h 2 s
  EXPECT_EQ(wall_seconds(3600), 3 * 3600);  // 2 h 30 min
  EXPECT_EQ(wall_seconds(10 * 3600), 21 * 3600);
}

TEST(WallTime, OfEveryJobAndTheNumberThatFits) {
  // Seven checkpoints of two hours each among three jobs: 6, 4 and 4 hours.
  const std::vector<double> seconds(7, 7200);
  const TimePlan plan = plan_times(seconds, 3, 9 * 3600);
  EXPECT_EQ(plan.wall_seconds, (std::vector<int64_t>{13 * 3600, 9 * 3600, 9 * 3600}));
  EXPECT_EQ(plan.jobs_that_fit, 4);  // at most two checkpoints per job
  expect_error(ErrorKind::kConfig, {"13:00:00", "09:00:00", "'small'", "--jobs 4"},
               [&] { check_limit(plan, 9 * 3600, "small"); });
  check_limit(plan, 13 * 3600, "small");
  check_limit(plan, std::nullopt, "small");
  EXPECT_FALSE(plan_times(seconds, 3, 4 * 3600).jobs_that_fit);
  expect_error(ErrorKind::kConfig, {"not even one checkpoint"},
               [&] { check_limit(plan_times(seconds, 3, 4 * 3600), 4 * 3600, "small"); });
  EXPECT_EQ(plan_times(seconds, 3, std::nullopt).jobs_that_fit, 1);
}

TEST(WallTime, GivenForEachJob) {
  // Ten checkpoints, two jobs of five each in 10 hours: two hours per checkpoint.
  const TimePlan plan = plan_given_time(10, 2, 10 * 3600, 5 * 3600);
  EXPECT_EQ(plan.wall_seconds, (std::vector<int64_t>{10 * 3600, 10 * 3600}));
  EXPECT_EQ(plan.jobs_that_fit, 5);  // two checkpoints in four hours
  EXPECT_FALSE(plan_given_time(10, 2, 10 * 3600, 3600).jobs_that_fit);
  // At 1.8 hours each, three take 5.4 hours: 6 are asked for, which is more than 5.
  EXPECT_EQ(plan_given_time(10, 2, 9 * 3600, 5 * 3600).jobs_that_fit, 5);
  EXPECT_EQ(plan_given_time(3, 8, 3600, std::nullopt).wall_seconds.size(), 3u);
}

}  // namespace
}  // namespace saddle::cluster
