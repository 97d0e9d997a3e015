// scripts/slurm.sh with a real Slurm: a training that runs to its end, and one interrupted by the
// time limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "config/load.h"
#include "slurm/cluster.h"
#include "train/small_run.h"

namespace saddle::cluster {
namespace {

using ::testing::HasSubstr;

// A training long enough to be interrupted in the middle.
struct LongRun {
  LongRun() : settings(train::small_settings(directory.path())) {
    settings.training.max_tokens = 27 * 8 * 300;
    settings.training.epoch_tokens = 27 * 8 * 100;
    settings.training.log_every = 50;
    data::write_token_cache(settings.data.cache, data::random_ids(27 * 8 * 300 + 1, 61, 1),
                            data::random_ids(24 * 8 + 4, 61, 2), 61);
    std::filesystem::create_directories(directory / "runs");
  }

  // The command of a job that trains into a directory of this name.
  std::vector<std::string> job(const std::string& name) {
    settings.runtime.output_dir = (directory / name).string();
    const Path config = directory / (name + ".yaml");
    write_file_atomically(config, config::to_yaml(settings));
    return {"sbatch",       "--parsable",         "--mem=600",
            "--time=10:00", "--signal=B:USR1@60", SADDLE_SOURCE_DIR "/scripts/slurm.sh",
            "train",        "--config",           config.string()};
  }

  std::string submit(const std::string& name) {
    const std::string output = output_of(job(name), directory.path());
    return output.substr(0, output.find('\n'));
  }

  std::string log(const std::string& id) const {
    const Path file = directory / ("runs/slurm-" + id + ".log");
    return std::filesystem::exists(file) ? read_file(file) : "";
  }

  bool finished(const std::string& name) const {
    return std::filesystem::exists(directory / (name + "/result.json"));
  }

  TemporaryDirectory directory;
  config::Settings settings;
};

TEST(SlurmTraining, ToTheEndAndAcrossATimeLimit) {
  const OneNodeSlurm slurm;
  if (!slurm.why_not().empty()) GTEST_SKIP() << slurm.why_not();
  ::setenv("SADDLE_SLURM_PROGRAM", SADDLE_PROGRAM, 1);
  LongRun run;

  // Paused in the middle until the time limit is near: Slurm checks limits twice a minute.
  const std::string limited = run.submit("limited");
  pid_t program = 0;
  ASSERT_TRUE(wait_until([&] { return (program = find_program("limited.yaml")) != 0; }, 30));
  const Path metrics = run.directory / "limited/metrics.jsonl";
  ASSERT_TRUE(wait_until(
      [&] { return std::filesystem::exists(metrics) && !read_file(metrics).empty(); }, 60));
  ::kill(program, SIGSTOP);
  ASSERT_FALSE(run.finished("limited")) << "the training was over too soon";
  output_of({"scontrol", "update", "JobId=" + limited, "EndTime=now+61"});

  const std::string whole = run.submit("whole");
  ASSERT_TRUE(wait_until(
      [&] { return run.log(limited).find("the time limit is near") != std::string::npos; }, 70))
      << run.log(limited);
  ::kill(program, SIGCONT);
  ASSERT_TRUE(wait_until([&] { return queue_state(limited) == "PENDING"; }, 60))
      << run.log(limited);
  // The earlier end became its time limit, and near it the job would be warned again. It starts by
  // itself 11 seconds later; if started at once, its node may still refuse it because of the
  // credential of its first run.
  output_of({"scontrol", "update", "JobId=" + limited, "TimeLimit=10"});
  ASSERT_TRUE(wait_until([&] { return queue_state(limited) == "COMPLETED"; }, 200))
      << queue_state(limited) << "\n"
      << run.log(limited);

  ASSERT_TRUE(wait_until([&] { return queue_state(whole) == "COMPLETED"; }, 200)) << run.log(whole);
  EXPECT_THAT(run.log(whole), HasSubstr("the command ended with 0"));
  EXPECT_THAT(run.log(whole), HasSubstr("first update begins"));

  const std::string log = run.log(limited);
  EXPECT_THAT(log, HasSubstr("restart 0"));
  EXPECT_THAT(log, HasSubstr("stopping after"));
  EXPECT_THAT(log, HasSubstr("restart 1"));
  EXPECT_THAT(log, HasSubstr("--resume auto"));
  EXPECT_EQ(train::tensor_bytes(run.directory / "limited/final.safetensors"),
            train::tensor_bytes(run.directory / "whole/final.safetensors"));
  EXPECT_EQ(train::numbers_of(run.directory / "limited/metrics.jsonl"),
            train::numbers_of(run.directory / "whole/metrics.jsonl"));
}

}  // namespace
}  // namespace saddle::cluster
