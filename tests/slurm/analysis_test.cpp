// saddle submit-analysis and saddle sweep with a real Slurm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/analyzed_run.h"
#include "base/exit_codes.h"
#include "base/json.h"
#include "cluster/submission.h"
#include "config/load.h"
#include "slurm/cluster.h"
#include "support/run_program.h"
#include "support/started_program.h"

namespace saddle::cluster {
namespace {

using ::testing::HasSubstr;

constexpr const char* kQuick = " --poll-seconds 0.3 --unknown-minutes 0.05 ";

class Analyses {
 public:
  std::string analysis(const Path& output) const {
    return fmt::format("--run {} --output {} --threads 1 --noise-samples 2 --random-samples 3",
                       run_.run().string(), output.string());
  }
  std::string submission(const Path& output) const {
    return "submit-analysis --jobs 2 --walltime-hours 1 " + analysis(output) + kQuick;
  }
  static std::string resume(const Path& output) {
    return "submit-analysis --resume --output " + output.string() + kQuick;
  }
  Path folder(const std::string& name) const { return run_.directory / name; }

  static std::map<std::string, std::string> results(const Path& output) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(output)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with("seen.json") || name == "summary.csv") {
        files[name] = read_file(entry.path());
      }
    }
    return files;
  }

  static Json attempts(const Path& output, size_t work) {
    return read_json(output / kSubmissionFile)["work"][work]["attempts"];
  }
  static bool submitted(const Path& output) {
    if (!std::filesystem::exists(output / kSubmissionFile)) return false;
    const Json record = read_json(output / kSubmissionFile);
    for (const Json& work : record["work"]) {
      if (work["attempts"].empty() || work["attempts"][0]["job"].is_null()) return false;
    }
    return true;
  }
  static std::string job(const Path& output, size_t work) {
    return attempts(output, work).back()["job"].get<std::string>();
  }

 private:
  analysis::AnalyzedRun run_;
};

// One job fails, the watcher is killed, and the resumed analysis equals a local one.
void fail_and_repair(const Analyses& analyses, const Path& local) {
  const Path output = analyses.folder("repaired");
  ::setenv("SADDLE_SLURM_OPTIONS", "--hold", 1);
  {
    StartedProgram watcher(analyses.submission(output));
    ASSERT_TRUE(wait_until([&] { return analyses.submitted(output); }, 60)) << watcher.printed();
    watcher.kill(SIGKILL);
    watcher.wait();
  }
  ::unsetenv("SADDLE_SLURM_OPTIONS");
  // A foreign file is where the second job will write.
  make_directories(output / "jobs/001-results");
  write_file_atomically(output / "jobs/001-results/foreign", "");
  for (const size_t work : {0, 1}) output_of({"scontrol", "release", analyses.job(output, work)});

  const ProgramResult failed = run_saddle(analyses.resume(output));
  EXPECT_EQ(failed.exit_code, exit_code(ErrorKind::kIo)) << failed.errors;
  EXPECT_THAT(failed.errors, HasSubstr("FAILED 3:0"));
  EXPECT_EQ(analyses.attempts(output, 0)[0]["state"], "succeeded");
  EXPECT_FALSE(std::filesystem::exists(output / "epoch-005.seen.json"));

  std::filesystem::remove(output / "jobs/001-results/foreign");
  const ProgramResult repaired = run_saddle(analyses.resume(output));
  EXPECT_EQ(repaired.exit_code, 0) << repaired.errors;
  EXPECT_EQ(analyses.attempts(output, 0).size(), 1u);
  EXPECT_EQ(analyses.attempts(output, 1).size(), 2u);
  EXPECT_EQ(Analyses::results(output), Analyses::results(local));
  EXPECT_THAT(run_saddle("jobs --output " + output.string()).output, HasSubstr("succeeded"));
}

// A job cancelled by a person has failed, and is submitted again on request.
void cancel(const Analyses& analyses, const Path& local) {
  const Path output = analyses.folder("cancelled");
  ::setenv("SADDLE_SLURM_OPTIONS", "--hold", 1);
  EXPECT_EQ(run_saddle(analyses.submission(output) + "--no-watch").exit_code, 0);
  ::unsetenv("SADDLE_SLURM_OPTIONS");
  EXPECT_THAT(run_saddle("jobs --output " + output.string()).output,
              HasSubstr("pending (PENDING (JobHeldUser))"));
  output_of({"scancel", analyses.job(output, 0)});
  output_of({"scontrol", "release", analyses.job(output, 1)});
  ASSERT_TRUE(wait_until([&] { return queue_state(analyses.job(output, 1)) == "COMPLETED"; }, 60));
  EXPECT_THAT(run_saddle("jobs --output " + output.string()).output,
              HasSubstr("cancelled (CANCELLED"));
  const ProgramResult resumed = run_saddle(analyses.resume(output));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_EQ(analyses.attempts(output, 0).size(), 2u);
  EXPECT_EQ(analyses.attempts(output, 1).size(), 1u);
  EXPECT_EQ(Analyses::results(output), Analyses::results(local));
}

// Queue and accounting have forgotten a job: neither success nor failure, and no second job.
void lose_a_record(const OneNodeSlurm& slurm, const Analyses& analyses, const Path& local) {
  const Path output = analyses.folder("forgotten");
  slurm.set_memory_of_queue(2);
  ASSERT_EQ(run_saddle(analyses.submission(output) + "--no-watch").exit_code, 0);
  const std::vector<std::string> jobs = {analyses.job(output, 0), analyses.job(output, 1)};
  ASSERT_TRUE(
      wait_until([&] { return queue_state(jobs[0]).empty() && queue_state(jobs[1]).empty(); }, 90));
  ASSERT_TRUE(wait_until(
      [&] {
        return output_of({"sacct", "-n", "-X", "-j", jobs[1], "-o", "State"}).find("COMPLETED") !=
               std::string::npos;
      },
      30));
  slurm.forget_record(jobs[1]);
  const Path note = output / "jobs/001-attempt-1.end";
  const std::string noted = read_file(note);
  std::filesystem::remove(note);

  const ProgramResult unknown = run_saddle(analyses.resume(output));
  EXPECT_EQ(unknown.exit_code, exit_code(ErrorKind::kIo)) << unknown.errors;
  EXPECT_THAT(unknown.errors, HasSubstr("not in the queue, no accounting record"));
  EXPECT_EQ(analyses.attempts(output, 0)[0]["said_by"], "sacct");
  EXPECT_EQ(analyses.attempts(output, 1).size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(output / "epoch-005.seen.json"));

  // The note of the job itself shows how it ended.
  write_file_atomically(note, noted);
  EXPECT_EQ(run_saddle(analyses.resume(output)).exit_code, 0);
  EXPECT_EQ(analyses.attempts(output, 1)[0]["said_by"], "note");
  EXPECT_EQ(Analyses::results(output), Analyses::results(local));
}

void sweep() {
  const TemporaryDirectory directory;
  config::Settings settings = train::small_settings(directory.path());
  data::write_token_cache(settings.data.cache, data::random_ids(270 * 8 + 1, 61, 1),
                          data::random_ids(24 * 8 + 4, 61, 2), 61);
  write_file_atomically(directory / "small.yaml", config::to_yaml(settings));
  const std::string grid = fmt::format("sweep --config {} --grid optimizer.lr=0.01,0.02 --output ",
                                       (directory / "small.yaml").string());
  const Path local = directory / "local", output = directory / "slurm";
  const ProgramResult here = run_saddle(grid + local.string());
  ASSERT_EQ(here.exit_code, 0) << here.errors;
  const ProgramResult there = run_saddle(grid + output.string() + " --slurm" + kQuick);
  ASSERT_EQ(there.exit_code, 0) << there.errors;
  for (const char* name : {"small-lr0.01", "small-lr0.02"}) {
    EXPECT_EQ(train::tensor_bytes(local / name / "final.safetensors"),
              train::tensor_bytes(output / name / "final.safetensors"));
  }
  const Json record = read_json(output / kSubmissionFile);
  const std::string first = record["work"][0]["attempts"][0]["job"].get<std::string>();
  EXPECT_TRUE(first.ends_with("_0")) << first;
  EXPECT_THAT(run_saddle("jobs --output " + output.string()).output, HasSubstr("small-lr0.02"));
  EXPECT_EQ(read_json(output / "summary.json")["rows"].size(), 2u);
}

TEST(SlurmAnalysis, SubmittedFailedCancelledForgottenAndResumed) {
  const OneNodeSlurm slurm;
  if (!slurm.why_not().empty()) GTEST_SKIP() << slurm.why_not();
  const Analyses analyses;
  const Path local = analyses.folder("local");
  ASSERT_EQ(run_saddle("analyze " + analyses.analysis(local)).exit_code, 0);

  const Path output = analyses.folder("out");
  const ProgramResult result = run_saddle(analyses.submission(output));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(Analyses::results(output), Analyses::results(local));
  EXPECT_EQ(Analyses::results(local).size(), 5u);

  fail_and_repair(analyses, local);
  cancel(analyses, local);
  sweep();
  lose_a_record(slurm, analyses, local);
}

}  // namespace
}  // namespace saddle::cluster
