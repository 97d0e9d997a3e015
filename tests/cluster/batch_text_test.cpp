// The whole text of batch scripts, and what it does when a shell runs it.
#include "cluster/batch_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "base/process.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle::cluster {
namespace {

using ::testing::HasSubstr;

JobDescription one_job() {
  JobDescription job;
  job.name = "saddle-1234abcd-000-1";
  job.directory = "/home/user/study";
  job.log = "/home/user/study/out/jobs/slurm-%j.log";
  job.wall_seconds = 3 * 3600;
  job.tasks = {{0, {"/opt/saddle", "analyze", "--run", "runs/it's one"}, "/home/user/study/0.end"}};
  return job;
}

TEST(BatchText, OfOneJob) {
  JobDescription job = one_job();
  job.site.account = "physics";
  job.site.setup = "module load gcc";
  job.site.signal_seconds = 120;
  job.site.max_restarts = 7;
  EXPECT_EQ(
      batch_text(job),
      std::string("#!/usr/bin/env bash\n"
                  "#SBATCH --account=physics\n"
                  "#SBATCH --job-name=saddle-1234abcd-000-1\n"
                  "#SBATCH --output=/home/user/study/out/jobs/slurm-%j.log\n"
                  "#SBATCH --open-mode=append\n"
                  "#SBATCH --chdir=/home/user/study\n"
                  "#SBATCH --nodes=1\n"
                  "#SBATCH --ntasks=1\n"
                  "#SBATCH --time=03:00:00\n"
                  "#SBATCH --signal=B:USR1@120\n"
                  "#SBATCH --requeue\n"
                  "set -u\n"
                  "\n"
                  "note() { printf '%s slurm: %s\\n' \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\" "
                  "\"$*\"; }\n"
                  "\n"
                  "command=(/opt/saddle analyze --run 'runs/it'\\''s one')\n"
                  "end_note=/home/user/study/0.end\n"
                  "max_restarts=7\n"
                  "setup='module load gcc'\n"
                  "rm -f \"$end_note\"\n"
                  "\n") +
          kRunCommand +
          "\n"
          "# Slurm may restart a job that it ended; then this was not its end.\n"
          "if $ended && ((code != 0)); then exit \"$code\"; fi\n"
          "id=${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}\n"
          "printf '%s %s\\n' \"$id\" \"$code\" >\"$end_note.part\" && mv \"$end_note.part\" "
          "\"$end_note\"\n"
          "exit \"$code\"\n");
}

TEST(BatchText, OfAnArray) {
  JobDescription job = one_job();
  job.array = true;
  job.tasks_at_once = 2;
  job.tasks = {{0, {"a"}, "/0.end"}, {2, {"b", "--x"}, "/2.end"}};
  const std::string text = batch_text(job);
  EXPECT_THAT(text, HasSubstr("#SBATCH --array=0,2%2\n"));
  EXPECT_THAT(text, HasSubstr("case \"$SLURM_ARRAY_TASK_ID\" in\n"
                              "  0)\n"
                              "    command=(a)\n"
                              "    end_note=/0.end\n"
                              "    ;;\n"
                              "  2)\n"
                              "    command=(b --x)\n"
                              "    end_note=/2.end\n"
                              "    ;;\n"
                              "  *)\n"
                              "    note \"this array has no task $SLURM_ARRAY_TASK_ID\"\n"
                              "    exit 1\n"
                              "    ;;\n"
                              "esac\n"));
}

// Slurm replaces % patterns in the name of a log by its numbers; %% is one % of the directory.
TEST(BatchText, APercentInAPathIsDoubledInTheNameOfTheLog) {
  JobDescription job = one_job();
  job.directory = "/data/100%j";
  job.log = log_pattern("/data/100%j %%/jobs", false);
  EXPECT_EQ(job.log, "/data/100%%j %%%%/jobs/slurm-%j.log");
  EXPECT_THAT(batch_text(job),
              HasSubstr("#SBATCH --output=\"/data/100%%j %%%%/jobs/slurm-%j.log\"\n"
                        "#SBATCH --open-mode=append\n"
                        "#SBATCH --chdir=/data/100%j\n"));
  EXPECT_THAT(own_options(job),
              ::testing::Contains("--output=/data/100%%j %%%%/jobs/slurm-%j.log"));
  EXPECT_EQ(log_file(job.log, "17"), "/data/100%j %%/jobs/slurm-17.log");
  EXPECT_EQ(log_file(log_pattern("/a%A%", true), "17_3"), "/a%A%/slurm-17_3.log");
  EXPECT_EQ(log_file("/a%", "17"), "/a%");
}

TEST(BatchText, ASiteOptionWithBlanksIsOneWord) {
  JobDescription job = one_job();
  job.site.options = R"(--comment="my job" -w 'a b' --reservation='it"s')";
  EXPECT_THAT(batch_text(job), HasSubstr("#SBATCH --comment=\"my job\"\n"
                                         "#SBATCH -w\n"
                                         "#SBATCH \"a b\"\n"
                                         "#SBATCH --reservation=\"it\\\"s\"\n"));
}

TEST(BatchText, WhatABatchScriptCannotContainIsRefused) {
  JobDescription job = one_job();
  job.directory = "/home/user/a\nb";
  expect_error(ErrorKind::kUsage, {"directory"}, [&] { batch_text(job); });
  job = one_job();
  job.tasks.clear();
  expect_error(ErrorKind::kInternal, {"0 tasks"}, [&] { batch_text(job); });
}

// Both scripts run a command with the same lines.
TEST(BatchText, TheGeneralScriptHasTheSameLines) {
  EXPECT_THAT(read_file(SADDLE_SOURCE_DIR "/scripts/slurm.sh"), HasSubstr(kRunCommand));
}

// Runs the script with a command of the test in place of the program.
class RunBatch : public ::testing::Test {
 protected:
  ProcessResult run(const std::string& command, const std::string& variables = "") const {
    JobDescription job = one_job();
    job.tasks = {{0, {"bash", "-c", command}, directory_ / "0.end"}};
    write_file_atomically(directory_ / "batch.sh", batch_text(job));
    write_file_atomically(directory_ / "scontrol", "#!/bin/sh\necho scontrol \"$@\"\n");
    std::filesystem::permissions(directory_ / "scontrol", std::filesystem::perms::owner_all);
    return run_process({"bash", "-c",
                        "export SLURM_JOB_ID=17 " + variables +
                            " PATH=" + directory_.path().string() + ":$PATH; exec bash batch.sh"},
                       {.directory = directory_.path()});
  }

  std::string end_note() const {
    const Path file = directory_ / "0.end";
    return std::filesystem::exists(file) ? read_file(file) : "none";
  }

  TemporaryDirectory directory_;
};

TEST_F(RunBatch, TheExitCodeIsThatOfTheCommandAndIsNoted) {
  EXPECT_EQ(run("exit 0").exit_code, 0);
  EXPECT_EQ(end_note(), "17 0\n");
  EXPECT_EQ(run("exit 3").exit_code, 3);
  EXPECT_EQ(end_note(), "17 3\n");
  EXPECT_EQ(run("exit 0", "SLURM_ARRAY_JOB_ID=16 SLURM_ARRAY_TASK_ID=4").exit_code, 0);
  EXPECT_EQ(end_note(), "16_4 0\n");
}

// $PPID is the batch script: the command plays Slurm's part and warns it.
constexpr const char* kWarned =
    "trap 'exit 75' USR1; kill -USR1 $PPID; for i in $(seq 100); do sleep 0.1; done";

TEST_F(RunBatch, AfterTheWarningItGoesBackIntoTheQueue) {
  const ProcessResult result = run(kWarned);
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_THAT(result.output, HasSubstr("scontrol requeue 17\n"));
  EXPECT_THAT(result.output, HasSubstr("the command ended with 75"));
  EXPECT_EQ(end_note(), "none");
}

TEST_F(RunBatch, ItGoesBackOnlyUpToMaxRestarts) {
  const ProcessResult result = run(kWarned, "SLURM_RESTART_COUNT=100");
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_THAT(result.output, ::testing::Not(HasSubstr("scontrol")));
  EXPECT_EQ(end_note(), "17 75\n");
}

TEST_F(RunBatch, AWarnedCommandThatFinishesIsFinished) {
  const ProcessResult result = run(
      "trap 'sleep 0.2; exit 0' USR1; kill -USR1 $PPID; for i in $(seq 100); do sleep 0.1; done");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, ::testing::Not(HasSubstr("scontrol")));
  EXPECT_EQ(end_note(), "17 0\n");
}

// Slurm signals every process of a job that it ends: the script must not end before the command.
TEST_F(RunBatch, WhenSlurmEndsTheJobTheCommandIsWaitedFor) {
  const ProcessResult result = run("kill -TERM $PPID; sleep 0.3; echo saved; exit 75");
  EXPECT_EQ(result.exit_code, 75);
  EXPECT_THAT(result.output, HasSubstr("saved\n"));
  EXPECT_THAT(result.output, HasSubstr("the command ended with 75"));
  EXPECT_THAT(result.output, ::testing::Not(HasSubstr("scontrol")));
  EXPECT_EQ(end_note(), "none");
  EXPECT_EQ(run("kill -TERM $PPID; sleep 0.1").exit_code, 0);
  EXPECT_EQ(end_note(), "17 0\n");
}

TEST_F(RunBatch, ACommandThatStopsWithoutAWarningIsNotPutBack) {
  EXPECT_EQ(run("exit 75").exit_code, 75);
  EXPECT_EQ(end_note(), "17 75\n");
}

}  // namespace
}  // namespace saddle::cluster
