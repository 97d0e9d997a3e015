// saddle sweep --slurm as a user types it, with planted commands of Slurm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/exit_codes.h"
#include "base/process.h"
#include "cluster/fake_slurm.h"
#include "cluster/submission.h"
#include "config/load.h"
#include "support/run_program.h"
#include "train/small_run.h"

namespace saddle::cluster {
namespace {

using ::testing::HasSubstr;

class SubmitSweep : public ::testing::Test {
 protected:
  SubmitSweep() { write_file_atomically(config_, config::to_yaml(run_.settings)); }

  std::string words(const std::string& more) const {
    return fmt::format("sweep --config {} --grid optimizer.lr=0.001,0.01 --output {} {}",
                       config_.string(), output_.string(), more);
  }

  FakeSlurm slurm_;
  train::SmallRun run_;
  Path config_ = run_.directory / "20m.yaml";
  Path output_ = run_.directory / "sweep";
};

// The planted partition allows three days.
TEST_F(SubmitSweep, ATimeOverThePartitionsLimitIsRefused) {
  const ProgramResult result = run_saddle(words("--slurm --no-watch --walltime-hours 200"));
  EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kConfig)) << result.errors;
  for (const char* part : {"8-08:00:00", "3-00:00:00", "'small'"}) {
    EXPECT_THAT(result.errors, HasSubstr(part));
  }
  EXPECT_EQ(slurm_.calls("sbatch"), 0);
  EXPECT_FALSE(std::filesystem::exists(output_));
  EXPECT_EQ(run_saddle(words("--slurm --no-watch --walltime-hours 72")).exit_code, kExitSuccess);
  EXPECT_THAT(read_file(output_ / "jobs/array-attempt-1.sh"),
              HasSubstr("#SBATCH --time=3-00:00:00\n"));
}

// A build that replaces the program before its jobs are submitted: sinfo is asked first.
TEST_F(SubmitSweep, AReplacedProgramSubmitsNothing) {
  const Path program = run_.directory / "saddle";
  std::filesystem::copy_file(SADDLE_PROGRAM, program);
  slurm_.answer("sinfo", "rm -f '" + program.string() + "'; echo other >'" + program.string() +
                             "'; echo 'small*|3-00:00:00|.'");
  const ProcessResult result =
      run_process({"bash", "-c",
                   "'" + program.string() + "' " + words("--slurm --no-watch --walltime-hours 1")},
                  {});
  EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kConfig)) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("'" + program.string() + "' was replaced or removed"));
  EXPECT_EQ(slurm_.calls("sbatch"), 0);
}

}  // namespace
}  // namespace saddle::cluster
