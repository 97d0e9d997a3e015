// Output of Slurm commands: complete, truncated, empty, and with words of other sites.
#include "cluster/slurm_output.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "cluster/job_state.h"

namespace saddle::cluster {
namespace {

TEST(Sbatch, TheIdAndItsCluster) {
  EXPECT_EQ(parse_sbatch("17\n")->id, "17");
  EXPECT_EQ(parse_sbatch("17\n")->cluster, "");
  EXPECT_EQ(parse_sbatch("17;north\n")->id, "17");
  EXPECT_EQ(parse_sbatch("17;north\n")->cluster, "north");
  EXPECT_EQ(parse_sbatch("Welcome to the north cluster!\nSubmitted batch job 8 on cluster north\n")
                ->cluster,
            "north");
}

TEST(Sbatch, AnythingButOneIdIsNone) {
  EXPECT_FALSE(parse_sbatch(""));
  EXPECT_FALSE(parse_sbatch("submitted\n"));
  EXPECT_FALSE(parse_sbatch("17x\n"));
  EXPECT_FALSE(parse_sbatch("17\n18\n"));
  EXPECT_FALSE(parse_sbatch("17;\n"));
}

TEST(Sbatch, ALineOfAnyLengthIsRead) {
  const std::string digits(1'000'000, '7'), letters(1'000'000, 'n');
  EXPECT_EQ(parse_sbatch(digits + ";" + letters)->cluster, letters);
  EXPECT_FALSE(parse_sbatch(digits + ";" + letters + "!"));
  EXPECT_EQ(parse_squeue(digits + "|RUNNING|name|None|.\n").size(), 1);
  EXPECT_EQ(parse_sacct(digits + "|FAILED|" + digits + ":0|name|\n").size(), 1);
}

TEST(Squeue, CompleteRows) {
  const JobRows rows =
      parse_squeue("CLUSTER: north\n17|RUNNING|saddle-a-000-1|None|.\n18_3|PENDING|b|Priority|.\n");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].id, "17");
  EXPECT_EQ(rows[0].state, "RUNNING");
  EXPECT_EQ(rows[0].name, "saddle-a-000-1");
  EXPECT_EQ(rows[1].id, "18_3");
  EXPECT_EQ(rows[1].reason, "Priority");
}

TEST(Squeue, ATruncatedLineIsIgnored) {
  const std::string whole = "17|RUNNING|saddle-a-000-1|None|.";
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_TRUE(parse_squeue(whole.substr(0, length)).empty()) << length;
  }
  EXPECT_EQ(parse_squeue(whole).size(), 1u);
  EXPECT_TRUE(parse_squeue("").empty());
  EXPECT_TRUE(parse_squeue("17_[0-3]|PENDING|a|None|.").empty());
}

TEST(Sacct, ATruncatedLineIsIgnored) {
  const std::string whole = "17|COMPLETED|0:0|saddle-a-000-1|";
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_TRUE(parse_sacct(whole.substr(0, length)).empty()) << length;
  }
  const JobRows rows = parse_sacct(whole + "\n18|CANCELLED by 1000|0:15|b|\n");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].exit_code, "0:0");
  EXPECT_EQ(rows[1].state, "CANCELLED by 1000");
}

TEST(JobState, SlurmsWords) {
  EXPECT_EQ(state_of_slurm("COMPLETED"), JobState::kSucceeded);
  EXPECT_EQ(state_of_slurm("COMPLETING"), JobState::kRunning);
  EXPECT_EQ(state_of_slurm("CANCELLED by 1000"), JobState::kCancelled);
  EXPECT_EQ(state_of_slurm("TIMEOUT"), JobState::kTimedOut);
  EXPECT_EQ(state_of_slurm("NODE_FAIL"), JobState::kFailed);
  EXPECT_EQ(state_of_slurm("REQUEUED"), JobState::kPending);
  for (const char* word : {"", "COMPLETE", "COMPLETED+", "completed", "REVOKED", "SOMETHING_NEW"}) {
    EXPECT_EQ(state_of_slurm(word), JobState::kUnknown) << word;
  }
}

TEST(JobState, NamesReadBack) {
  for (const JobState state :
       {JobState::kUnknown, JobState::kPending, JobState::kRunning, JobState::kSucceeded,
        JobState::kFailed, JobState::kCancelled, JobState::kTimedOut}) {
    EXPECT_EQ(job_state_of_name(job_state_name(state)), state);
  }
}

TEST(SlurmTime, BothWays) {
  EXPECT_EQ(parse_seconds("30"), 1800);
  EXPECT_EQ(parse_seconds("30:05"), 1805);
  EXPECT_EQ(parse_seconds("72:00:00"), 259200);
  EXPECT_EQ(parse_seconds("3-00:00:00"), 259200);
  EXPECT_EQ(parse_seconds("1-06"), 108000);
  EXPECT_EQ(parse_seconds("1-06:30"), 109800);
  for (const char* text : {"infinite", "UNLIMITED", "n/a", "", "1:2:3:4", "-5", "x-1", "1-"}) {
    EXPECT_FALSE(parse_seconds(text)) << text;
  }
  EXPECT_EQ(slurm_time(3600), "01:00:00");
  EXPECT_EQ(slurm_time(259200 + 61), "3-00:01:01");
}

TEST(SlurmTime, MoreSecondsThanFitAreNone) {
  EXPECT_EQ(parse_seconds("106751991167300-15:30:07"), INT64_MAX);
  EXPECT_FALSE(parse_seconds("106751991167300-15:30:08"));
  EXPECT_FALSE(parse_seconds("9223372036854775807"));
  EXPECT_FALSE(parse_seconds("9223372036854775807-00"));
}

TEST(Sinfo, PartitionsAndTheirLimits) {
  const auto partitions = parse_sinfo("small*|3-00:00:00|.\nlong|infinite|.\nbroken|1-0");
  ASSERT_EQ(partitions.size(), 2u);
  EXPECT_EQ(partitions[0].name, "small");
  EXPECT_TRUE(partitions[0].standard);
  EXPECT_EQ(partitions[0].limit_seconds, 259200);
  EXPECT_FALSE(partitions[1].standard);
  EXPECT_FALSE(partitions[1].limit_seconds);
}

}  // namespace
}  // namespace saddle::cluster
