// Compares packed with sequential execution of one update of N workers, with the same initial
// weights, inputs and mixing. Training uses packed execution; sequential execution runs the workers
// one after another over the same arena, with the memory of one worker's activations.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "config/settings.h"

namespace saddle::bench {

enum class PackedMode { kPacked, kSequential };
std::string_view mode_name(PackedMode mode);

// The parts of an update.
inline constexpr std::array<std::string_view, 4> kPackedParts = {"compute", "clipping", "mixing",
                                                                 "adamw"};

struct PackedCandidate {
  PackedMode mode = PackedMode::kPacked;
  int64_t warmup = 10;
  int64_t steps = 50;
  Path trace;  // Chrome trace of the pass that times the parts; empty: none
};

struct PackedMeasurement {
  std::vector<double> seconds;           // of each timed update
  std::array<double, 4> part_seconds{};  // median of each of kPackedParts
  int64_t peak_memory_bytes = 0;
  std::vector<double> losses;  // of each worker in the second update; nats
};

// Errors: kUsage for fewer than 1 step or a negative warm-up; kConfig with adaptive consensus,
// which has no constant rate.
void check_packed(const config::Settings& settings, int64_t warmup, int64_t steps);

// Measures in this process: warm-up, timed updates, then a tenth as many updates (at least five)
// whose parts are timed. (Training mixes and steps in one pass over the arena, the timed parts in
// two.) Tokens are random ids. `settings`: decentralized.num_models workers of
// training.micro_batch_size sequences, the constant rate optimizer.lr. Errors: those of
// check_packed; kNumeric if a loss is not finite.
PackedMeasurement measure_packed(const config::Settings& settings,
                                 const PackedCandidate& candidate);

Json to_json(const PackedMeasurement& measurement);

struct PackedBenchmarkOptions {
  std::vector<int64_t> num_models = {4, 8};
  int64_t warmup = 10;
  int64_t steps = 50;
  double time_limit_seconds = 0;  // of one candidate; 0: none
  Path output;                    // directory for summary.json and traces
};

// Runs both modes for each number of workers, each in a separate process, as `saddle
// benchmark-packed-worker` with these words for its settings. Batch, budget and checkpoints are set
// last, for each number of workers; only then must the settings be consistent. Writes traces and,
// after each row, summary.json; returns the summary, or nothing if `stop` gave a signal. A
// candidate that fails is a row. Errors, before anything is written: kUsage for numbers of workers
// that are repeated or not from 1 to 1000; those of check_packed and config::check_settings. Later:
// those of files.
std::optional<Json> run_packed_benchmark(const config::Settings& settings,
                                         const std::vector<std::string>& settings_words,
                                         const PackedBenchmarkOptions& options,
                                         const std::function<int()>& stop, Log& log);

// Compares two rows of a summary with the same number of workers. Writes to the packed one:
// loss_difference, the largest relative difference of a worker's last loss; then speedup, or
// failure if the difference is above the tolerance: a different computation is no speedup.
void compare_modes(const Json& sequential, Json& packed, double tolerance);

// The table of a summary.
std::string packed_table(const Json& summary);

}  // namespace saddle::bench
