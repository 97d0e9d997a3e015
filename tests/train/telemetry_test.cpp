// Telemetry of a training, on request.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/telemetry.h"
#include "train/small_run.h"

namespace saddle::train {
namespace {

TEST(TrainingTelemetry, IsWrittenOnRequestAndContinuesWithTheRun) {
  SmallRun run;
  const Path path = run.file("telemetry.csv");
  run.train(stop_after(run, 3));
  EXPECT_FALSE(std::filesystem::exists(path));
  run.settings.runtime.telemetry = true;
  run.train(stop_after(run, 6, "auto"));
  const std::string first = read_file(path);
  EXPECT_TRUE(first.starts_with(kTelemetryHeading));
  EXPECT_GE(std::ranges::count(first, '\n'), 2);
  EXPECT_TRUE(run.train(resume_from("auto")).completed);
  const std::string second = read_file(path);
  EXPECT_TRUE(second.starts_with(first));
  EXPECT_GT(second.size(), first.size());
}

}  // namespace
}  // namespace saddle::train
