// `saddle train` killed, stopped, starved of disk and run twice at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <array>
#include <filesystem>

#include "base/exit_codes.h"
#include "config/load.h"
#include "faults/fault_rounds.h"
#include "support/closed_pipe.h"
#include "support/run_program.h"
#include "train/small_run.h"

namespace saddle::train {
namespace {

using ::testing::HasSubstr;

// A run that writes a state after every update.
class TrainFaults : public ::testing::Test {
 protected:
  TrainFaults() {
    settings_ = run_.settings;
    settings_.training.checkpoint_policy = config::CheckpointPolicy::kAll;
    settings_.training.checkpoint_every = 1;
  }

  std::string arguments(const Path& output) {
    config::Settings settings = settings_;
    settings.runtime.output_dir = output.string();
    const Path file = run_.directory / (output.filename().string() + ".yaml");
    write_file_atomically(file, config::to_yaml(settings));
    const bool begun = std::filesystem::exists(output / "latest.state.safetensors");
    return "train --config " + file.string() + (begun ? " --resume auto" : "");
  }

  // Trains without disturbance; returns the seconds.
  double train_undisturbed() {
    const Stopwatch watch;
    const ProgramResult result = run_saddle(arguments(undisturbed()));
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return watch.seconds();
  }

  Path undisturbed() const { return run_.directory / "undisturbed"; }

  void expect_same_bits(const Path& output) const {
    EXPECT_EQ(tensor_bytes(output / "final.state.safetensors"),
              tensor_bytes(undisturbed() / "final.state.safetensors"));
    EXPECT_EQ(numbers_of(output / "metrics.jsonl"), numbers_of(undisturbed() / "metrics.jsonl"));
  }

  // Checks that every weight and state file under its final name is complete.
  static void expect_nothing_half_written(const Path& output) {
    if (!std::filesystem::exists(output)) return;
    for (const auto& entry : std::filesystem::directory_iterator(output)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(".") && name.ends_with(".safetensors")) tensor_bytes(entry.path());
    }
  }

  // A run killed before its first state cannot be continued.
  static void remove_if_stateless(const Path& output) {
    if (!std::filesystem::exists(output / "latest.state.safetensors")) {
      std::filesystem::remove_all(output);
    }
  }

  SmallRun run_;
  config::Settings settings_;
};

TEST_F(TrainFaults, KilledAtRandomMoments) {
  RandomMoments moments(train_undisturbed());
  for (int round = 0; round < fault_rounds();) {
    const Path output = run_.directory / fmt::format("run-{}", round);
    // Each run is killed again and again until it ends by itself.
    for (int code = -1; code != 0;) {
      StartedProgram program(arguments(output));
      moments.sleep();
      program.kill(SIGKILL);
      code = program.wait();
      ASSERT_TRUE(code == -1 || code == 0) << program.printed();
      expect_nothing_half_written(output);
      if (code == -1) remove_if_stateless(output);
      if (++round >= fault_rounds() && code != 0) {
        const ProgramResult last = run_saddle(arguments(output));
        ASSERT_EQ(last.exit_code, 0) << last.errors;
        code = 0;
      }
    }
    expect_same_bits(output);
    // Half-written files of killed processes were removed.
    for (const auto& entry : std::filesystem::directory_iterator(output)) {
      EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
    }
  }
}

TEST_F(TrainFaults, WithoutAReaderOfItsLog) {
  train_undisturbed();
  const Path output = run_.directory / "run";
  EXPECT_EQ(run_saddle_into_closed_pipe(STDERR_FILENO, arguments(output)), 0);
  expect_same_bits(output);
}

TEST_F(TrainFaults, StoppedAtRandomMoments) {
  RandomMoments moments(train_undisturbed());
  constexpr std::array kSignals{SIGTERM, SIGINT, SIGUSR1};
  for (int round = 0; round < fault_rounds();) {
    const Path output = run_.directory / fmt::format("run-{}", round);
    for (int code = kExitStopped; code != 0;) {
      StartedProgram program(arguments(output));
      moments.sleep();
      program.kill(kSignals[round % kSignals.size()]);
      code = program.wait();
      // -1: before the program handled its signals, when there was nothing to save.
      ASSERT_TRUE(code == kExitStopped || code == 0 || code == -1) << program.printed();
      if (code == -1) {
        ASSERT_EQ(program.printed(), "");
      }
      remove_if_stateless(output);
      if (++round >= fault_rounds() && code != 0) {
        const ProgramResult last = run_saddle(arguments(output));
        ASSERT_EQ(last.exit_code, 0) << last.errors;
        code = 0;
      }
    }
    expect_same_bits(output);
  }
}

TEST_F(TrainFaults, FullDisk) {
  train_undisturbed();
  const auto state_size = std::filesystem::file_size(undisturbed() / "final.state.safetensors");
  const Path disk = run_.directory / "disk";
  make_directories(disk);
  ChildProcess child([&] {
    // Room for the records and for a few files of weights and states, not for all.
    const std::string size = fmt::format("size={}", 4 * state_size + 65536);
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", disk.c_str(), "tmpfs", 0, size.c_str()) != 0) {
      return 77;
    }
    const Path output = disk / "run";
    const ProgramResult full = run_saddle(arguments(output));
    if (full.exit_code != exit_code(ErrorKind::kIo)) return 1;
    if (full.errors.find("No space left") == std::string::npos) return 2;
    if (!std::filesystem::exists(output / "latest.state.safetensors")) return 3;
    expect_nothing_half_written(output);
    if (::mount("none", disk.c_str(), "tmpfs", MS_REMOUNT, "size=64m") != 0) return 77;
    if (run_saddle(arguments(output)).exit_code != 0) return 4;
    expect_same_bits(output);
    return ::testing::Test::HasFailure() ? 5 : 0;
  });
  const int status = child.exit_status();
  if (status == 77) GTEST_SKIP() << "a small file system cannot be mounted here";
  EXPECT_EQ(status, 0) << "1: exit code, 2: message, 3: no state was left, 4: the rerun failed, "
                          "5: other bits, 99: a file was half-written";
}

TEST_F(TrainFaults, SecondOneInTheSameDirectoryIsRefused) {
  train_undisturbed();
  const Path output = run_.directory / "run";
  StartedProgram first(arguments(output));
  while (!std::filesystem::exists(output / "metrics.jsonl")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  first.kill(SIGSTOP);
  const ProgramResult second = run_saddle(arguments(output) + " --resume auto");
  first.kill(SIGCONT);
  EXPECT_EQ(second.exit_code, exit_code(ErrorKind::kIo)) << second.errors;
  EXPECT_THAT(second.errors, HasSubstr("training in"));
  ASSERT_EQ(first.wait(), 0) << first.printed();
  expect_same_bits(output);
}

}  // namespace
}  // namespace saddle::train
