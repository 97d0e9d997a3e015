#include "base/candidate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>

#include "base/error.h"
#include "support/expect_error.h"

namespace saddle {
namespace {

// This program lists its tests, which is not JSON: a failure must not keep the others from running.
TEST(Candidate, OutputThatIsNotJsonIsAFailure) {
  const CandidateOutcome outcome = run_candidate({"--gtest_list_tests"}, 0, [] { return 0; });
  EXPECT_FALSE(outcome.record);
  EXPECT_NE(outcome.failure.find("the output of a candidate"), std::string::npos)
      << outcome.failure;
}

ProcessResult ended(int exit_code, int signal = 0) {
  ProcessResult result;
  result.exit_code = exit_code;
  result.signal = signal;
  result.errors = "last words\n";
  return result;
}

TEST(Candidate, SuccessBeforeAKillIsMeasured) {
  using Kind = CandidateOutcome::Kind;
  const auto record = [] { return Json(7); };
  ProcessResult late = ended(0);
  late.timed_out = true;  // its own child held the output open until then
  EXPECT_EQ(outcome_of(late, 1, record).kind, Kind::kMeasured);
  EXPECT_EQ(outcome_of(late, 1, record).record, Json(7));
  ProcessResult stopped = ended(0);
  stopped.stopped = true;
  EXPECT_EQ(outcome_of(stopped, 1, record).kind, Kind::kMeasured);
}

TEST(Candidate, TimeLimitsAreNumbers) {
  for (const double seconds : {0.0, 0.5, 1e9}) check_time_limit(seconds);
  for (const double seconds : {-1.0, std::nan(""), HUGE_VAL}) {
    expect_error(ErrorKind::kUsage, {"--time-limit is"}, [&] { check_time_limit(seconds); });
  }
}

TEST(Candidate, NamesTheReasonForNoMeasurement) {
  using Kind = CandidateOutcome::Kind;
  const auto record = []() -> Json { fail(ErrorKind::kData, "no record"); };
  ProcessResult result = ended(-1, SIGKILL);
  EXPECT_EQ(outcome_of(result, 0, record).failure,
            "ended by signal 9, as the system does when memory runs out");
  result.timed_out = true;
  EXPECT_EQ(outcome_of(result, 0.5, record).failure, "over 0.5 s");
  EXPECT_EQ(outcome_of(result, 1234567, record).failure, "over 1234567 s");
  EXPECT_EQ(outcome_of(result, 1, record).kind, Kind::kTimedOut);
  result.timed_out = false;
  result.stopped = true;
  EXPECT_EQ(outcome_of(result, 1, record).kind, Kind::kStopped);
  EXPECT_EQ(outcome_of(ended(3), 0, record).failure, "last words");
  EXPECT_EQ(outcome_of(ended(0), 0, record).failure, "no record");
  EXPECT_EQ(outcome_of(ended(0), 0, record).kind, Kind::kFailed);
}

}  // namespace
}  // namespace saddle
