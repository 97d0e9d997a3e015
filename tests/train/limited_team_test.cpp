// The program when OpenMP starts fewer threads than runtime.threads requests: its numbers are
// those of one thread.
#include <gtest/gtest.h>
#include <sched.h>

#include <array>

#include "config/load.h"
#include "support/environment_variable.h"
#include "support/run_program.h"
#include "train/small_run.h"

namespace saddle::train {
namespace {

// A model whose products are large enough to be shared among threads; six updates.
struct WideRun : SmallRun {
  WideRun() {
    settings.model = {.vocab_size = 500,
                      .context_length = 64,
                      .layers = 2,
                      .width = 128,
                      .heads = 4,
                      .ffn_width = 256};
    settings.training.batch_tokens = 16 * 64;
    settings.training.micro_batch_size = 16;
    settings.training.max_tokens = 6 * 16 * 64;
    settings.training.epoch_tokens = 3 * 16 * 64;
    settings.evaluation.batch_size = 16;
    settings.evaluation.subset_blocks = 16;
    settings.data.cache = (directory / "wide").string();
    data::write_token_cache(settings.data.cache, data::random_ids(10 * 16 * 64 + 1, 500, 1),
                            data::random_ids(16 * 64 + 1, 500, 2), 500);
    write_file_atomically(directory / "settings.yaml", config::to_yaml(settings));
  }

  // The loss of evaluate, the last loss of train, and a statistic of analyze.
  std::array<double, 3> numbers(const std::string& name, int threads) const {
    const Path output = directory / name;
    const std::string with =
        fmt::format(" --config {} --set runtime.threads={} --set runtime.output_dir='{}'",
                    (directory / "settings.yaml").string(), threads, output.string());
    run("train" + with);
    const Json evaluated = parse_json(run("evaluate --json" + with + " --checkpoint '" +
                                          (output / "final.safetensors").string() + "'"),
                                      "what evaluate prints");
    const Path analysis = directory / (name + ".analysis");
    run(
        fmt::format("analyze --run '{}' --threads {} --checkpoints final --data-case seen "
                    "--noise-samples 1 --random-samples 1 --output '{}'",
                    output.string(), threads, analysis.string()));
    double last = 0;
    for (const Json& line : read_lines(output / "metrics.jsonl")) {
      if (line.at("type") == "train") last = line.at("loss").get<double>();
    }
    return {evaluated.at("loss").get<double>(), last,
            read_json(analysis / "final.seen.json")
                .at("statistics")
                .at("noise_alignment")
                .get<double>()};
  }

  static std::string run(const std::string& arguments) {
    const ProgramResult result = run_saddle(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments << "\n" << result.errors;
    return result.output;
  }
};

TEST(LimitedTeam, GivesTheNumbersOfOneThread) {
  const WideRun run;
  const std::array<double, 3> expected = run.numbers("one", 1);
  const auto expect_the_same = [&](const std::string& place) {
    const std::array<double, 3> found = run.numbers(place, 2);
    for (size_t i = 0; i < found.size(); ++i) {
      // Float sums in another order, propagated through six updates with a rate of 0.01.
      EXPECT_NEAR(found[i] / expected[i], 1, 1e-3) << place << ", number " << i;
    }
  };
  expect_the_same("unlimited");
  const std::array<std::array<const char*, 2>, 4> limits = {{{"OMP_THREAD_LIMIT", "1"},
                                                             {"OMP_DYNAMIC", "true"},
                                                             {"OMP_MAX_ACTIVE_LEVELS", "0"},
                                                             {"OMP_NUM_THREADS", "1"}}};
  for (const auto& [name, value] : limits) {
    const EnvironmentVariable variable(name, value);
    expect_the_same(fmt::format("{}={}", name, value));
  }
}

// Child processes inherit the processors of the test.
TEST(LimitedTeam, MayHaveFewerProcessorsThanThreads) {
  const WideRun run;
  const double expected = run.numbers("one", 1)[0];
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const double found = run.numbers("two", 2)[0];
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  EXPECT_NEAR(found / expected, 1, 1e-3);
}

}  // namespace
}  // namespace saddle::train
