// Submitting and watching with planted answers: never a false success, never a second submission.
#include "cluster/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/this_program.h"
#include "cluster/fake_slurm.h"
#include "support/expect_error.h"

namespace saddle::cluster {
namespace {

using ::testing::HasSubstr;

int go_on() {
  return 0;
}

class DriverTest : public ::testing::Test {
 protected:
  Path record() const { return directory_ / kSubmissionFile; }

  Submission two(bool array = false) const {
    Submission submission;
    submission.token = "1234abcd";
    submission.array = array;
    submission.directory = directory_.path();
    submission.about = {{"source", source_description()}};
    for (const char* title : {"first", "second"}) {
      Work work;
      work.title = title;
      work.command = {"true"};
      work.wall_seconds = 3600;
      submission.work.push_back(work);
    }
    return submission;
  }

  Driver driver() { return {record(), two(), log_}; }
  Driver resumed() { return {record(), read_submission(record()), log_}; }

  static JobState state(const Driver& driver, size_t index) {
    return driver.submission().work[index].last()->found.state;
  }
  static std::string id(const Driver& driver, size_t index) {
    return driver.submission().work[index].last()->id;
  }

  FakeSlurm slurm_;
  TemporaryDirectory directory_;
  Log log_ = Log::silent();
  WatchOptions quick_{.poll_seconds = 0.01, .unknown_minutes = 0.002};
};

// The log is where Slurm writes it when the path has a %.
TEST_F(DriverTest, APercentInThePathStaysOne) {
  const Path record = directory_ / "100%j" / kSubmissionFile;
  Driver one(record, two(), log_);
  one.submit_due(go_on);
  EXPECT_EQ(one.submission().work[0].last()->log, directory_ / "100%j/jobs/slurm-101.log");
  EXPECT_THAT(read_file(slurm_.file("calls")),
              HasSubstr("--output=" + (directory_ / "100%%j/jobs/slurm-%j.log").string()));
}

TEST_F(DriverTest, SubmitsEachOnceAndKeepsTheIds) {
  Driver first = driver();
  first.submit_due(go_on);
  EXPECT_EQ(id(first, 0), "101");
  EXPECT_EQ(id(first, 1), "102");
  first.submit_due(go_on);
  resumed().submit_due(go_on);
  EXPECT_EQ(slurm_.calls("sbatch"), 2);
  EXPECT_EQ(to_json(read_submission(record())), to_json(first.submission()));
  const Attempt& attempt = *first.submission().work[1].last();
  EXPECT_EQ(attempt.name, "saddle-1234abcd-001-1");
  EXPECT_EQ(attempt.log, directory_ / "jobs/slurm-102.log");
  EXPECT_THAT(read_file(attempt.script), HasSubstr("#SBATCH --job-name=saddle-1234abcd-001-1\n"));
}

TEST_F(DriverTest, AnArrayIsOneSubmissionAndItsFailedTasksAnother) {
  Driver tasks(record(), two(true), log_);
  tasks.submit_due(go_on);
  EXPECT_EQ(slurm_.calls("sbatch"), 1);
  EXPECT_EQ(id(tasks, 1), "101_1");
  EXPECT_EQ(tasks.submission().work[1].last()->log, directory_ / "jobs/slurm-101_1.log");
  slurm_.answer("sacct",
                "echo '101_0|COMPLETED|0:0|saddle-1234abcd-array-1|'\n"
                "echo '101_1|FAILED|3:0|saddle-1234abcd-array-1|'");
  EXPECT_EQ(tasks.watch(quick_, go_on), WatchEnd::kUnsettled);
  tasks.submit_due(go_on);
  EXPECT_EQ(slurm_.calls("sbatch"), 2);
  EXPECT_EQ(id(tasks, 0), "101_0");
  EXPECT_EQ(id(tasks, 1), "102_1");
  EXPECT_EQ(tasks.submission().work[1].last()->name, "saddle-1234abcd-array-2");
}

// Also if its tasks were never submitted a second time: a job is found by its name.
TEST_F(DriverTest, NoTwoArraysHaveTheSameName) {
  Driver tasks(record(), two(true), log_);
  tasks.submit_due(go_on);
  slurm_.answer("sacct", "echo '101_1|FAILED|3:0|saddle-1234abcd-array-1|'");
  tasks.refresh();
  tasks.submit_due(go_on);
  EXPECT_EQ(tasks.submission().work[1].last()->name, "saddle-1234abcd-array-2");
  slurm_.answer("sacct",
                "echo '101_0|FAILED|3:0|saddle-1234abcd-array-1|'\n"
                "echo '102_1|COMPLETED|0:0|saddle-1234abcd-array-2|'");
  tasks.refresh();
  tasks.submit_due(go_on);
  EXPECT_EQ(slurm_.calls("sbatch"), 3);
  EXPECT_EQ(tasks.submission().work[0].last()->name, "saddle-1234abcd-array-3");
}

TEST_F(DriverTest, TheAccountingDecidesSuccess) {
  Driver jobs = driver();
  jobs.submit_due(go_on);
  slurm_.answer("sacct", FakeSlurm::accounting("COMPLETED", "0:0"));
  EXPECT_EQ(jobs.watch(quick_, go_on), WatchEnd::kSucceeded);
}

TEST_F(DriverTest, AnEmptyQueueWithoutARecordIsNeitherSuccessNorFailure) {
  Driver jobs = driver();
  jobs.submit_due(go_on);
  EXPECT_EQ(jobs.watch(quick_, go_on), WatchEnd::kUnsettled);
  EXPECT_EQ(state(jobs, 0), JobState::kUnknown);
  jobs.submit_due(go_on);
  EXPECT_EQ(slurm_.calls("sbatch"), 2);
  expect_error(ErrorKind::kIo, {"job 101 unknown", "job 102 unknown", "again please"},
               [&] { jobs.fail_unsettled("again please"); });
  // The records arrive later.
  slurm_.answer("sacct", FakeSlurm::accounting("COMPLETED", "0:0"));
  EXPECT_EQ(resumed().watch(quick_, go_on), WatchEnd::kSucceeded);
}

TEST_F(DriverTest, BadAnswersAreNeitherSuccessNorFailure) {
  Driver jobs = driver();
  jobs.submit_due(go_on);
  const std::vector<std::string> queues = {
      "",
      "exit 1",
      "printf '101|COMPLETED|saddle-1234abcd-000-1|No'",  // cut off
      "echo '101|COMPLETED|another|None|.'; echo '102|COMPLETED|another|None|.'",
      "echo '101|FLYING|saddle-1234abcd-000-1|None|.'",
      "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1"};
  const std::vector<std::string> accountings = {
      "",
      "exit 1",
      "printf '101|COMPLETED|0:0|saddle-1234abcd-00'",  // cut off
      "echo '101|COMPLETED|0:0|another|'; echo '102|FAILED|1:0|another|'",
      "echo '101|LANDED|0:0|saddle-1234abcd-000-1|'",
      "echo '101|COMPLETED|9:0|saddle-1234abcd-000-1|'"};
  for (const std::string& queue : queues) {
    for (const std::string& accounting : accountings) {
      slurm_.answer("squeue", queue);
      slurm_.answer("sacct", accounting);
      jobs.refresh();
      EXPECT_EQ(state(jobs, 0), JobState::kUnknown) << queue << "; " << accounting;
      EXPECT_EQ(state(jobs, 1), JobState::kUnknown) << queue << "; " << accounting;
      EXPECT_FALSE(jobs.submission().work[0].due());
    }
  }
  slurm_.answer("squeue", "");
  jobs.submit_due(go_on);
  EXPECT_EQ(slurm_.calls("sbatch"), 2);
}

TEST_F(DriverTest, OnlyWhatEndedInFailureIsSubmittedAgain) {
  Driver jobs = driver();
  jobs.submit_due(go_on);
  slurm_.answer("sacct",
                "echo '101|COMPLETED|0:0|saddle-1234abcd-000-1|'\n"
                "echo '102|CANCELLED by 0|0:15|saddle-1234abcd-001-1|'");
  EXPECT_EQ(jobs.watch(quick_, go_on), WatchEnd::kUnsettled);
  EXPECT_EQ(state(jobs, 1), JobState::kCancelled);
  Driver again = resumed();
  again.submit_due(go_on);
  EXPECT_EQ(slurm_.calls("sbatch"), 3);
  EXPECT_EQ(id(again, 0), "101");
  EXPECT_EQ(id(again, 1), "103");
  EXPECT_EQ(again.submission().work[1].attempts.size(), 2u);
}

TEST_F(DriverTest, AFailedJobThatSlurmPutBackIsNotSubmittedAgain) {
  Driver jobs = driver();
  jobs.submit_due(go_on);
  slurm_.answer("sacct", FakeSlurm::accounting("NODE_FAIL", "0:0"));
  EXPECT_EQ(jobs.watch(quick_, go_on), WatchEnd::kUnsettled);
  slurm_.answer("squeue", "echo '102|PENDING|saddle-1234abcd-001-1|BeginTime|.'");
  jobs.submit_due(go_on);
  EXPECT_EQ(id(jobs, 0), "103");
  EXPECT_EQ(id(jobs, 1), "102");
  EXPECT_EQ(state(jobs, 1), JobState::kPending);
}

TEST_F(DriverTest, AFailedJobIsNotSubmittedAgainIfTheQueueDoesNotAnswer) {
  Driver jobs = driver();
  jobs.submit_due(go_on);
  slurm_.answer("sacct", FakeSlurm::accounting("NODE_FAIL", "0:0"));
  EXPECT_EQ(jobs.watch(quick_, go_on), WatchEnd::kUnsettled);
  // It answers other queries.
  slurm_.answer("squeue", "[[ $* == *--jobs=* ]] || exit 0; echo 'Socket timed out' >&2; exit 1");
  expect_error(ErrorKind::kIo, {"job 101 (first)", "nothing was submitted"},
               [&] { jobs.submit_due(go_on); });
  EXPECT_EQ(slurm_.calls("sbatch"), 2);
  // It has forgotten them.
  slurm_.answer("squeue",
                "[[ $* == *--jobs=* ]] || exit 0\n"
                "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
  jobs.submit_due(go_on);
  EXPECT_EQ(slurm_.calls("sbatch"), 4);
}

TEST_F(DriverTest, AForgottenJobThatIsInTheQueueAfterAllIsNotSubmittedAgain) {
  Driver jobs = driver();
  jobs.submit_due(go_on);
  EXPECT_EQ(jobs.watch(quick_, go_on), WatchEnd::kUnsettled);
  jobs.forget(1);
  slurm_.answer("squeue", "echo '102|RUNNING|saddle-1234abcd-001-1|None|.'");
  jobs.submit_due(go_on);
  EXPECT_EQ(slurm_.calls("sbatch"), 2);
  EXPECT_FALSE(read_submission(record()).work[1].due());
  EXPECT_EQ(state(jobs, 1), JobState::kRunning);
}

TEST_F(DriverTest, ATimeLimitShorterThanItsWarningIsRefused) {
  SubmissionControl control;
  control.site.signal_seconds = 300;
  control.walltime_hours = 0.1;
  EXPECT_EQ(control.wall_seconds(), 360);
  control.walltime_hours = 0.05;
  expect_error(ErrorKind::kUsage, {"0.05", "300 s"}, [&] { control.wall_seconds(); });
}

// Even if the partition or its limit changed after the time was chosen.
TEST_F(DriverTest, ATimeOverThePartitionsLimitIsNotSubmitted) {
  slurm_.answer("sinfo", "echo 'small*|30:00|.'; echo 'long|2:00:00|.'");
  Driver jobs = driver();
  expect_error(ErrorKind::kConfig, {"01:00:00", "00:30:00", "'small'"},
               [&] { jobs.submit_due(go_on); });
  SubmissionControl control;
  control.walltime_hours = 3;
  control.site.partition = "long";
  expect_error(ErrorKind::kConfig, {"03:00:00", "02:00:00", "'long'"},
               [&] { jobs.apply(control); });
  EXPECT_EQ(read_submission(record()).work[0].wall_seconds, 3600);
  EXPECT_EQ(slurm_.calls("sbatch"), 0);
  control.walltime_hours = 2;
  jobs.apply(control);
  jobs.submit_due(go_on);
  EXPECT_EQ(slurm_.calls("sbatch"), 2);
}

TEST_F(DriverTest, ALostIdIsReportedAndNotSubmittedAgain) {
  slurm_.answer("sbatch",
                "echo 'sbatch: error: Socket timed out on send/recv operation' >&2; exit 1");
  Driver jobs = driver();
  jobs.submit_due(go_on);
  EXPECT_TRUE(jobs.submission().work[0].lost());
  slurm_.answer("sbatch", FakeSlurm::kNumbering);
  Driver again = resumed();
  again.submit_due(go_on);  // the second piece of work, which was not tried
  EXPECT_TRUE(again.submission().work[0].lost());
  EXPECT_EQ(id(again, 1), "101");
  slurm_.answer("sacct", FakeSlurm::accounting("COMPLETED", "0:0"));
  EXPECT_EQ(again.watch(quick_, go_on), WatchEnd::kUnsettled);
  expect_error(ErrorKind::kIo, {"its job id was lost"}, [&] { again.fail_unsettled("x"); });
  expect_error(ErrorKind::kUsage, {"work 1 is not one"}, [&] { again.adopt(1, "7"); });
  expect_error(ErrorKind::kUsage, {"the number of a job"}, [&] { again.adopt(0, "x"); });

  // A person finds the job.
  slurm_.answer("sacct", FakeSlurm::accounting("COMPLETED", "0:0") +
                             "\necho '55|COMPLETED|0:0|saddle-1234abcd-000-1|'");
  again.adopt(0, "55");
  EXPECT_EQ(again.watch(quick_, go_on), WatchEnd::kSucceeded);
}

TEST_F(DriverTest, AnAnswerWithoutAnIdIsALostId) {
  slurm_.answer("sbatch", "echo 'your job is welcome'");
  Driver jobs = driver();
  jobs.submit_due(go_on);
  EXPECT_TRUE(jobs.submission().work[0].lost());
  EXPECT_FALSE(jobs.submission().work[0].due());
  jobs.forget(0);  // a person found no job
  slurm_.answer("sbatch", FakeSlurm::kNumbering);
  jobs.submit_due(go_on);
  EXPECT_EQ(id(jobs, 0), "101");
}

TEST_F(DriverTest, ASubmitterKilledDuringSbatchLeavesALostId) {
  // sbatch kills its parent: only what was written before remains.
  Submission submission = two();
  Attempt attempt;
  attempt.name = "saddle-1234abcd-000-1";
  submission.work[0].attempts.push_back(attempt);
  write_submission(record(), submission);
  Driver again = resumed();
  again.report_lost();
  again.submit_due(go_on);
  EXPECT_TRUE(again.submission().work[0].lost());
  EXPECT_EQ(slurm_.calls("sbatch"), 1);
}

TEST_F(DriverTest, ARefusalIsCertainAndEndsSubmitting) {
  slurm_.answer("sbatch",
                "echo 'sbatch: error: Batch job submission failed: Invalid account or account/"
                "partition combination specified' >&2; exit 1");
  Driver jobs = driver();
  jobs.submit_due(go_on);
  EXPECT_EQ(slurm_.calls("sbatch"), 1);
  EXPECT_TRUE(jobs.submission().work[0].due());
  EXPECT_EQ(jobs.watch(quick_, go_on), WatchEnd::kUnsettled);
  expect_error(ErrorKind::kIo, {"Invalid account", "not submitted"},
               [&] { jobs.fail_unsettled("x"); });
}

TEST_F(DriverTest, NothingIsSubmittedWhileSlurmDoesNotAnswer) {
  slurm_.answer("squeue", "echo 'Unable to contact slurm controller' >&2; exit 1");
  Driver jobs = driver();
  expect_error(ErrorKind::kIo, {"does not answer", "Unable to contact"},
               [&] { jobs.submit_due(go_on); });
  EXPECT_EQ(slurm_.calls("sbatch"), 0);
  EXPECT_EQ(jobs.submission().work[0].last(), nullptr);
}

TEST_F(DriverTest, TheClusterOfAJobIsAskedAboutIt) {
  slurm_.answer("sbatch", std::string(FakeSlurm::kNumbering) + "';north'");
  Driver jobs = driver();
  jobs.submit_due(go_on);
  EXPECT_EQ(id(jobs, 0), "101");
  EXPECT_EQ(jobs.submission().work[0].last()->cluster, "north");
  slurm_.answer("sacct", "[[ \"$*\" == *--clusters=north* ]] || exit 1\n" +
                             FakeSlurm::accounting("COMPLETED", "0:0"));
  EXPECT_EQ(jobs.watch(quick_, go_on), WatchEnd::kSucceeded);
}

TEST_F(DriverTest, StoppingLeavesTheJobsRunning) {
  slurm_.answer("squeue",
                "echo '101|RUNNING|saddle-1234abcd-000-1|None|.'\n"
                "echo '102|PENDING|saddle-1234abcd-001-1|Priority|.'");
  Driver jobs = driver();
  jobs.submit_due(go_on);
  EXPECT_EQ(jobs.watch(quick_, [] { return 15; }), WatchEnd::kStopped);
  EXPECT_EQ(state(jobs, 0), JobState::kRunning);
  EXPECT_THAT(submission_table(jobs.submission()), HasSubstr("pending (PENDING (Priority))"));
  EXPECT_EQ(slurm_.calls("scancel"), 0);
}

TEST_F(DriverTest, ARecordOfAnotherProgramIsRefused) {
  Submission submission = two();
  check_same_source(submission, record());
  submission.about["source"]["revision"] = "0000000";
  expect_error(ErrorKind::kConfig, {"revision", "0000000", "submission.json"},
               [&] { check_same_source(submission, record()); });
}

TEST_F(DriverTest, WorkThatWouldRunAnotherProgramIsRefused) {
  Submission submission = two();
  for (Work& work : submission.work) work.command = {path_of_this_program().string()};
  check_program(submission, record());
  submission.work[1].command = {(directory_ / "saddle").string()};
  write_file_atomically(directory_ / "saddle", "another one");
  expect_error(ErrorKind::kConfig, {(directory_ / "saddle").string(), "submission.json"},
               [&] { check_program(submission, record()); });
  Attempt running;
  running.id = "7";
  submission.work[1].attempts.push_back(running);
  check_program(submission, record());
}

TEST_F(DriverTest, ADamagedRecordIsRefused) {
  write_file_atomically(record(), "{\"format\": \"saddle submission 1\"}\n");
  expect_error(ErrorKind::kData, {"submission.json"}, [&] { read_submission(record()); });
  write_file_atomically(record(), "{}\n");
  expect_error(ErrorKind::kData, {"saddle submission 1"}, [&] { read_submission(record()); });
}

}  // namespace
}  // namespace saddle::cluster
