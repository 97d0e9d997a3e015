// A build that replaces the program while it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "apps/program_run.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "support/child_process.h"

namespace saddle {
namespace {

using ::testing::HasSubstr;

// Replaces the program like a linker: by another file with that name.
void replace(const Path& program) {
  write_file_atomically(program, "#!/bin/sh\nexit 9\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
}

TEST(ReplacedProgram, ASweepContinuesWithTheRunningProgram) {
  ProgramRun run;
  run.settings.training.max_tokens = 200'000;
  run.settings.training.epoch_tokens = 50'000;
  run.settings.data.cache = (run.directory / "longer").string();
  data::write_token_cache(run.settings.data.cache, data::random_ids(200'001, 61, 1),
                          data::random_ids(24 * 8 + 4, 61, 2), 61);
  const Path program = run.directory / "saddle";
  const Path output = run.directory / "sweep";
  std::filesystem::copy_file(SADDLE_PROGRAM, program);
  const std::string command = "exec '" + program.string() + "' " + run.words("sweep") +
                              " --grid optimizer.lr=0.001,0.01 --output " + output.string() + " >" +
                              (run.directory / "printed").string() + " 2>&1";
  ChildProcess child([&] {
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    return 127;
  });
  for (const Stopwatch watch; !std::filesystem::exists(output / "settings-lr0.001/metrics.jsonl") &&
                              watch.seconds() < 60;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_FALSE(std::filesystem::exists(output / "settings-lr0.01"));
  replace(program);
  EXPECT_EQ(child.exit_status(), kExitSuccess) << read_file(run.directory / "printed");
  const Json summary = read_json(output / "summary.json");
  for (const Json& row : summary["rows"]) {
    EXPECT_EQ(row["status"], "finished");
  }
}

}  // namespace
}  // namespace saddle
