// What the benchmark of quadratic forms refuses, and what it has written when it is stopped.
#include "bench/benchmark_hvp.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/telemetry.h"
#include "curvature/small_case.h"
#include "model/weights_file.h"
#include "support/expect_error.h"
#include "support/run_program.h"
#include "support/started_program.h"

namespace saddle::bench {
namespace {

// Finite weights whose products overflow float32; such a candidate might otherwise be selected.
TEST(HvpBenchmark, RefusesFormsThatAreNotFinite) {
  curvature::SmallCase<float> small;
  std::vector<double> huge = golden::parameters_to_host(small.weights);
  for (double& x : huge) x *= 1e30;
  golden::parameters_from_host(huge, small.weights);
  const Path file = small.directory.path() / "huge.safetensors";
  model::save_weights<float>(file, small.weights, 0, {});
  expect_error(ErrorKind::kNumeric, {"v'Hv of direction 0", "not finite"}, [&] {
    measure_hvp(small.settings, {.directions = 1, .rounds = 1, .checkpoint = file});
  });
}

TEST(HvpBenchmark, WritesItsSummaryAfterEachRow) {
  const TemporaryDirectory directory;
  const Path summary = Path(directory / "out") / "summary.json";
  StartedProgram program(
      "benchmark-hvp --batch-sizes 1 2 3 4 5 6 7 8 --rounds 200 --no-reference --output " +
      (directory / "out").string() +
      " --set model.vocab_size=50 --set model.context_length=8 --set model.layers=1"
      " --set model.width=16 --set model.heads=2 --set model.ffn_width=24"
      " --set training.micro_batch_size=2 --set runtime.threads=1");
  const Stopwatch watch;
  while (!std::filesystem::exists(summary) && watch.seconds() < 60) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(std::filesystem::exists(summary)) << program.printed();
  const size_t rows = read_json(summary)["rows"].size();
  EXPECT_GE(rows, 1U);
  EXPECT_LT(rows, 32U);
  program.kill(SIGTERM);
  program.wait();
  EXPECT_TRUE(read_file(directory / "out" / "telemetry.csv").starts_with(kTelemetryHeading));
}

// So many rounds that no candidate ends before its time limit is checked.
TEST(HvpBenchmark, WithoutAnyMeasurementIsAFailure) {
  const ProgramResult result = run_saddle(
      "benchmark-hvp --rounds 10000000 --no-reference --time-limit 0.0001 --set model.vocab_size=50"
      " --set model.context_length=8 --set model.layers=1 --set model.width=16 --set model.heads=2"
      " --set model.ffn_width=24 --set training.micro_batch_size=2 --set runtime.threads=1");
  EXPECT_EQ(result.exit_code, exit_code(ErrorKind::kDevice)) << result.errors;
  EXPECT_NE(result.output.find("over 0.0001 s"), std::string::npos) << result.output;
  EXPECT_NE(result.errors.find("no candidate could be measured"), std::string::npos);
}

}  // namespace
}  // namespace saddle::bench
