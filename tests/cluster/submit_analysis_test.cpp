// saddle submit-analysis as a user types it, with planted commands of Slurm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "analysis/analyzed_run.h"
#include "base/exit_codes.h"
#include "base/json.h"
#include "base/process.h"
#include "cluster/fake_slurm.h"
#include "cluster/slurm_output.h"
#include "cluster/submission.h"
#include "support/run_program.h"
#include "support/started_program.h"

namespace saddle::cluster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SubmitAnalysis : public ::testing::Test {
 protected:
  std::string analysis(const Path& output) const {
    return fmt::format("--run {} --output {} --threads 1 --noise-samples 2 --random-samples 3",
                       run_.run().string(), output.string());
  }
  std::string submission(const std::string& more = "--jobs 2 --walltime-hours 1") const {
    return fmt::format("submit-analysis {} --poll-seconds 0.1 --unknown-minutes 0.002 {}",
                       analysis(output_), more);
  }
  std::string resume(const std::string& more = "") const {
    return fmt::format(
        "submit-analysis --resume --output {} --poll-seconds 0.1 --unknown-minutes 0.002 {}",
        output_.string(), more);
  }

  // The files that matter: those of the cases, and the table.
  static std::map<std::string, std::string> results(const Path& output) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(output)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with("seen.json") || name == "summary.csv")
        files[name] = read_file(entry.path());
    }
    return files;
  }

  void expect_as_local() const {
    const Path local = run_.directory / "local";
    const ProgramResult result = run_saddle("analyze " + analysis(local));
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(results(output_), results(local));
    EXPECT_EQ(results(local).size(), 5u);
    EXPECT_EQ(read_json(output_ / "manifest.json")["identity"],
              read_json(local / "manifest.json")["identity"]);
    EXPECT_EQ(read_json(output_ / "manifest.json")["checkpoints"],
              read_json(local / "manifest.json")["checkpoints"]);
  }

  static void expect_failure(const ProgramResult& result, ErrorKind kind,
                             const std::vector<std::string>& parts) {
    EXPECT_EQ(result.exit_code, exit_code(kind)) << result.errors;
    for (const std::string& part : parts) EXPECT_THAT(result.errors, HasSubstr(part));
  }

  FakeSlurm slurm_;
  analysis::AnalyzedRun run_;
  Path output_ = run_.directory / "out";
};

TEST_F(SubmitAnalysis, TheCombinedResultsEqualALocalAnalysis) {
  slurm_.answer("sbatch", FakeSlurm::kRunning);
  const ProgramResult result = run_saddle(submission());
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("epoch-010=final"));
  EXPECT_THAT(result.output, HasSubstr((output_ / "summary.csv").string()));
  expect_as_local();
  EXPECT_EQ(slurm_.calls("sbatch"), 2);

  const Json record = read_json(output_ / kSubmissionFile);
  EXPECT_EQ(record["work"][0]["title"], "epoch-005");
  EXPECT_EQ(record["work"][1]["about"]["checkpoints"][0]["names"], Json({"epoch-010", "final"}));
  EXPECT_EQ(record["about"]["timing"]["walltime_hours"], 1.0);
  EXPECT_TRUE(record["about"]["source"].contains("revision"));
  EXPECT_THAT(run_saddle("jobs --output " + output_.string()).output,
              HasSubstr("succeeded (its command ended with 0)"));
  // Finished work is not submitted again.
  EXPECT_EQ(run_saddle(resume()).exit_code, 0);
  EXPECT_EQ(slurm_.calls("sbatch"), 2);
}

// A checkpoint of which one case is missing is measured again.
TEST_F(SubmitAnalysis, OnlyUnfinishedCheckpointsAreSubmitted) {
  slurm_.answer("sbatch", FakeSlurm::kRunning);
  ASSERT_EQ(run_saddle("analyze " + analysis(output_)).exit_code, 0);
  expect_failure(run_saddle(submission()), ErrorKind::kConfig, {"nothing to submit"});
  ASSERT_TRUE(std::filesystem::remove(output_ / "epoch-005.seen.json"));
  const ProgramResult result = run_saddle(submission());
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(slurm_.calls("sbatch"), 1);
  EXPECT_EQ(read_json(output_ / kSubmissionFile)["work"][0]["title"], "epoch-005");
  expect_as_local();
}

// A submission may be resumed from another working directory.
TEST_F(SubmitAnalysis, TheRecordContainsWholePaths) {
  slurm_.answer("sbatch", FakeSlurm::kRunning);
  const Path whole = output_;
  output_ = "out";
  const ProcessResult begun =
      run_process({"bash", "-c", "'" SADDLE_PROGRAM "' " + submission() + " --no-watch"},
                  {.directory = run_.directory.path()});
  output_ = whole;
  ASSERT_EQ(begun.exit_code, 0) << begun.errors;
  const Json attempt = read_json(output_ / kSubmissionFile)["work"][0]["attempts"][0];
  EXPECT_EQ(attempt["end_note"], (output_ / "jobs/000-attempt-1.end").string());
  EXPECT_EQ(run_saddle(resume()).exit_code, 0);
  EXPECT_EQ(slurm_.calls("sbatch"), 2);
}

TEST_F(SubmitAnalysis, ADryRunShowsThePlanAndWritesNothing) {
  const ProgramResult result = run_saddle(submission("--jobs 2 --walltime-hours 1 --dry-run"));
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("epoch-010=final"));
  EXPECT_THAT(result.output, HasSubstr("01:00:00"));
  EXPECT_THAT(result.output, HasSubstr("#SBATCH --requeue"));
  EXPECT_THAT(result.output, HasSubstr("limit of the partition small: 3-00:00:00"));
  EXPECT_FALSE(std::filesystem::exists(output_));
  EXPECT_EQ(slurm_.calls("sbatch"), 0);
}

TEST_F(SubmitAnalysis, WallTimesComeFromAProfileOrMustBeGiven) {
  expect_failure(run_saddle(submission("--jobs 2")), ErrorKind::kConfig,
                 {"--walltime-hours", "--profile"});
  const Path local = run_.directory / "local";
  ASSERT_EQ(run_saddle("analyze " + analysis(local)).exit_code, 0);
  const std::string profiled = "--jobs 2 --dry-run --profile " + local.string();
  const ProgramResult result = run_saddle(submission(profiled));
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("seconds_per_target"));
  EXPECT_THAT(result.output, HasSubstr("01:00:00"));
  expect_failure(run_saddle(submission(profiled + " --dtype float64")), ErrorKind::kConfig,
                 {"analysis.dtype"});
  slurm_.answer("sinfo", "echo 'small*|1:00:00|.'");
  expect_failure(run_saddle(submission("--jobs 1 --walltime-hours 2")), ErrorKind::kConfig,
                 {"02:00:00", "01:00:00", "'small'", "--jobs 2"});
  EXPECT_FALSE(std::filesystem::exists(output_));
}

// An epoch has 4 optimizer batches, of 3 x 8 and 3 sequences of 8 targets. For each data case a job
// computes gradients (counted as 2) and the form along each direction over the whole epoch, and
// then again the gradients of the batches whose noise is sampled.
TEST_F(SubmitAnalysis, WallTimesGrowWithBatchesAndSamples) {
  const Path local = run_.directory / "local";
  ASSERT_EQ(run_saddle("analyze " + analysis(local)).exit_code, 0);
  Json manifest = read_json(local / "manifest.json");
  for (Json& record : manifest["cases"]) record["seconds"] = 600;
  write_json(local / "manifest.json", manifest);
  const auto seconds_for = [&](double noise, double random, double sampled) {
    const ProgramResult result = run_saddle(fmt::format(
        "submit-analysis --run {} --output {} --threads 1 --jobs 2 --dry-run --profile {} "
        "--noise-samples {} --random-samples {}",
        run_.run().string(), output_.string(), local.string(), noise, random));
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    const size_t begin = result.output.find("timing: ") + 8;
    const Json timing = parse_json(
        result.output.substr(begin, result.output.find('\n', begin) - begin), "the timing");
    const double epoch = (3 * 8 + 3) * 8;
    EXPECT_DOUBLE_EQ(timing["targets_per_checkpoint"].get<double>(),
                     2 * epoch * (2 + sampled + random + sampled / 4));
    const auto seconds = timing["seconds_per_checkpoint"].get<double>();
    const auto hours = static_cast<int64_t>(std::ceil((2 * seconds + 1800) / 3600));
    EXPECT_GT(hours, 4);  // not the shortest possible time
    EXPECT_THAT(result.output, HasSubstr("#SBATCH --time=" + slurm_time(hours * 3600)));
    return seconds;
  };
  const double once = seconds_for(2, 200, 2);
  EXPECT_NEAR(seconds_for(2, 400, 2) / once, 404.5 / 204.5, 1e-9);
  EXPECT_NEAR(seconds_for(4, 200, 4) / once, 207 / 204.5, 1e-9);
  EXPECT_DOUBLE_EQ(seconds_for(400, 200, 4), seconds_for(4, 200, 4));  // there are no more
}

TEST_F(SubmitAnalysis, AFailedJobIsRepairedByResume) {
  // The second job never runs, and the accounting says that it failed.
  slurm_.answer("sbatch",
                std::string("if [[ $(cat \"$here/number\") == 101 ]]; then\n") +
                    "  for word; do [[ $word == --job-name=* ]] && name=${word#*=}; done\n"
                    "  echo \"102|FAILED|3:0|$name|\" >\"$here/failed\"\n"
                    "  echo 102 >\"$here/number\"\n  echo 102\n  exit 0\nfi\n" +
                    FakeSlurm::kRunning);
  slurm_.answer("sacct", "cat \"$here/failed\" 2>/dev/null");
  expect_failure(run_saddle(submission()), ErrorKind::kIo,
                 {"job 102 failed: FAILED 3:0", "--resume"});
  EXPECT_FALSE(std::filesystem::exists(output_ / "epoch-005.seen.json"));
  expect_failure(run_saddle(submission()), ErrorKind::kConfig, {"--resume"});
  const ProgramResult again = run_saddle(resume());
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_EQ(slurm_.calls("sbatch"), 3);
  expect_as_local();
}

TEST_F(SubmitAnalysis, ResumingWithATimeOverThePartitionsLimitIsRefused) {
  slurm_.answer("sacct", FakeSlurm::accounting("FAILED", "1:0"));
  ASSERT_EQ(run_saddle(submission("--jobs 2 --walltime-hours 1 --no-watch")).exit_code, 0);
  expect_failure(run_saddle(resume("--walltime-hours 200")), ErrorKind::kConfig,
                 {"8-08:00:00", "3-00:00:00", "'small'"});
  EXPECT_EQ(slurm_.calls("sbatch"), 2);
  EXPECT_EQ(read_json(output_ / kSubmissionFile)["work"][0]["wall_seconds"], 3600);
}

TEST_F(SubmitAnalysis, ASuccessWithoutResultsIsAFailure) {
  slurm_.answer("sacct", FakeSlurm::accounting("COMPLETED", "0:0"));
  expect_failure(run_saddle(submission()), ErrorKind::kIo, {"not what was requested"});
  slurm_.answer("sacct", "");
  slurm_.answer("sbatch", FakeSlurm::kRunning);
  const ProgramResult again = run_saddle(resume());
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  expect_as_local();
}

TEST_F(SubmitAnalysis, OtherSettingsAndOtherProgramsAreRefused) {
  ASSERT_EQ(run_saddle(submission("--jobs 2 --walltime-hours 1 --no-watch")).exit_code, 0);
  expect_failure(run_saddle(submission("--jobs 2 --resume --seed 7")), ErrorKind::kConfig,
                 {"analysis.seed"});
  Json record = read_json(output_ / kSubmissionFile);
  record["about"]["source"]["revision"] = "0000000";
  write_json(output_ / kSubmissionFile, record);
  expect_failure(run_saddle(resume()), ErrorKind::kConfig, {"revision", "0000000"});
  EXPECT_EQ(slurm_.calls("sbatch"), 2);
  expect_failure(run_saddle("submit-analysis --resume --output /nowhere"), ErrorKind::kIo, {});
}

TEST_F(SubmitAnalysis, ASecondSubmitterIsRefused) {
  slurm_.answer("squeue",
                "[[ -e \"$here/names\" ]] || exit 0\n"
                "while read -r number name; do echo \"$number|RUNNING|$name|None|.\"; done "
                "<\"$here/names\"");
  StartedProgram first(submission());
  while (slurm_.calls("sbatch") < 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  expect_failure(run_saddle(resume()), ErrorKind::kIo, {"analysis into", "out"});
  first.kill(SIGTERM);
  EXPECT_EQ(first.wait(), kExitStopped) << first.printed();
  EXPECT_THAT(first.printed(), HasSubstr("the jobs keep running"));
  // Resumed: the jobs exist, and end.
  slurm_.answer("squeue", "");
  slurm_.answer("sacct", FakeSlurm::accounting("FAILED", "1:0"));
  slurm_.answer("sbatch", "echo 'sbatch: error: Batch job submission failed: no' >&2; exit 1");
  expect_failure(run_saddle(resume()), ErrorKind::kIo, {"no"});
}

TEST_F(SubmitAnalysis, WithoutSlurmItSaysSo) {
  std::filesystem::remove(slurm_.file("sbatch"));
  ::setenv("PATH", slurm_.file("").c_str(), 1);
  expect_failure(run_saddle(submission()), ErrorKind::kDevice, {"'sbatch' was not found"});
}

}  // namespace
}  // namespace saddle::cluster
