// The conclusions from queue, accounting and note: never more than they say.
#include "cluster/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace saddle::cluster {
namespace {

using ::testing::HasSubstr;

constexpr const char* kName = "saddle-1234abcd-000-1";

JobRow row(const std::string& state, const std::string& exit_code = "",
           const std::string& name = kName, const std::string& id = "17") {
  return {id, name, state, "", exit_code};
}

Judgement judged(const Evidence& evidence) {
  return judge("17", kName, evidence);
}

TEST(Evidence, TheQueueTakesPrecedenceOverTheAccounting) {
  // A job that was put back into the queue: the accounting still shows its first run.
  const Judgement judgement =
      judged({JobRows{row("PENDING")}, JobRows{row("COMPLETED", "0:0")}, std::nullopt});
  EXPECT_EQ(judgement.state, JobState::kPending);
  EXPECT_EQ(judgement.source, "squeue");
}

TEST(Evidence, TheAccountingKnowsFinishedJobs) {
  EXPECT_EQ(judged({JobRows{}, JobRows{row("COMPLETED", "0:0")}, {}}).state, JobState::kSucceeded);
  EXPECT_EQ(judged({JobRows{}, JobRows{row("FAILED", "3:0")}, {}}).state, JobState::kFailed);
  EXPECT_EQ(judged({JobRows{}, JobRows{row("TIMEOUT", "0:0")}, {}}).state, JobState::kTimedOut);
  EXPECT_EQ(judged({std::nullopt, JobRows{row("COMPLETED", "0:0")}, {}}).state,
            JobState::kSucceeded);
}

TEST(Evidence, AFailureInTheQueueGetsItsExitCodeFromElsewhere) {
  const JobRows queue = {row("FAILED")};
  EXPECT_EQ(judged({queue, JobRows{row("FAILED", "3:0")}, {}}).detail, "FAILED 3:0");
  EXPECT_EQ(judged({queue, JobRows{}, EndNote{"17", 3}}).detail, "FAILED 3:0");
  EXPECT_EQ(judged({queue, JobRows{row("RUNNING", "0:0")}, EndNote{"18", 3}}).detail, "FAILED");
}

TEST(Evidence, NothingIsNeitherSuccessNorFailure) {
  for (const auto& queue : {std::optional<JobRows>(), std::optional<JobRows>(JobRows{})}) {
    for (const auto& accounting : {std::optional<JobRows>(), std::optional<JobRows>(JobRows{})}) {
      const Judgement judgement = judged({queue, accounting, std::nullopt});
      EXPECT_EQ(judgement.state, JobState::kUnknown);
      EXPECT_EQ(judgement.source, "");
      EXPECT_FALSE(judgement.detail.empty());
    }
  }
}

TEST(Evidence, UnrecognizedStatesAreUnknown) {
  EXPECT_EQ(judged({JobRows{row("GONE_FISHING")}, JobRows{}, {}}).state, JobState::kUnknown);
  EXPECT_EQ(judged({JobRows{}, JobRows{row("GONE_FISHING", "0:0")}, {}}).state, JobState::kUnknown);
}

TEST(Evidence, ASuccessWithAnExitCodeContradictsItself) {
  EXPECT_EQ(judged({JobRows{}, JobRows{row("COMPLETED", "1:0")}, {}}).state, JobState::kUnknown);
}

TEST(Evidence, ALaggingAccountingIsNotTrusted) {
  EXPECT_EQ(judged({JobRows{}, JobRows{row("RUNNING", "0:0")}, {}}).state, JobState::kUnknown);
  // While the queue does not answer, nothing contradicts it.
  EXPECT_EQ(judged({std::nullopt, JobRows{row("RUNNING", "0:0")}, {}}).state, JobState::kRunning);
}

TEST(Evidence, AReusedIdIsAnotherJob) {
  const Judgement judgement = judged({JobRows{row("COMPLETED", "", "other")},
                                      JobRows{row("COMPLETED", "0:0", "other")}, std::nullopt});
  EXPECT_EQ(judgement.state, JobState::kUnknown);
  EXPECT_THAT(judgement.detail, HasSubstr("other"));
  // The accounting can contain both.
  const JobRows both = {row("COMPLETED", "0:0", "other"), row("FAILED", "3:0")};
  EXPECT_EQ(judged({JobRows{}, both, std::nullopt}).state, JobState::kFailed);
}

TEST(Evidence, TheNoteCountsIfSlurmKnowsNothing) {
  const JobRows none;
  EXPECT_EQ(judged({none, none, EndNote{"17", 0}}).state, JobState::kSucceeded);
  EXPECT_EQ(judged({none, none, EndNote{"17", 4}}).state, JobState::kFailed);
  EXPECT_EQ(judged({none, none, EndNote{"18", 0}}).state, JobState::kUnknown);  // of another job
  EXPECT_EQ(judged({JobRows{row("RUNNING")}, none, EndNote{"17", 0}}).state, JobState::kRunning);
  EXPECT_EQ(judged({none, JobRows{row("FAILED", "1:0")}, EndNote{"17", 0}}).state,
            JobState::kFailed);
}

TEST(EndNotes, WholeOrNothing) {
  EXPECT_EQ(parse_end_note("17 0\n")->exit_code, 0);
  EXPECT_EQ(parse_end_note("17_3 75\n")->id, "17_3");
  for (const char* text : {"", "17", "17 0", "17 \n", "17 0\n1", "x 0\n", "17 -1\n", "17 1000\n"}) {
    EXPECT_FALSE(parse_end_note(text)) << text;
  }
}

}  // namespace
}  // namespace saddle::cluster
