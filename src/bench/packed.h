// Packed against sequential execution of one update of N workers: the same initial weights, inputs
// and mixing. Packed is what training does; sequential runs the workers one after another over the
// same arena, with the memory of one worker's activations.
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

// What an update consists of.
inline constexpr std::array<std::string_view, 4> kPackedParts = {"compute", "clipping", "mixing",
                                                                 "adamw"};

struct PackedCandidate {
  PackedMode mode = PackedMode::kPacked;
  int64_t warmup = 10;
  int64_t steps = 50;
  Path trace;  // of the pass that times parts, as a Chrome trace; empty: none
};

struct PackedMeasurement {
  std::vector<double> seconds;           // of each timed update
  std::array<double, 4> part_seconds{};  // median of each of kPackedParts
  int64_t peak_memory_bytes = 0;
  std::vector<double> losses;  // of each worker in the second update, nats
};

// Errors: kUsage for fewer than 1 step or a negative warm-up; kConfig with adaptive consensus,
// which has no constant rate.
void check_packed(const config::Settings& settings, int64_t warmup, int64_t steps);

// Measures in this process: warm-up, timed updates, then a pass of a tenth as many (at
// least five) that times the parts. (Training mixes and steps in one pass over the arena; that pass
// does it in two.) Tokens are random ids. `settings`: decentralized.num_models workers of
// training.micro_batch_size sequences, the rate optimizer.lr throughout. Errors: those of
// check_packed; kNumeric when a loss is not finite.
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

// Runs both modes for each number of workers, each in a process of its own, as `saddle
// benchmark-packed-worker` with these words for its settings, which need to agree only with the
// batch, budget and checkpoints of each number of workers, set last. Writes traces and,
// after each row, summary.json; returns what the summary holds, or nothing when `stop` gave a
// signal. A candidate that fails is a row. Errors, before anything is written: kUsage for numbers
// of workers that are not 1 to 1000 or come twice; those of check_packed and
// config::check_settings. Later: those of files.
std::optional<Json> run_packed_benchmark(const config::Settings& settings,
                                         const std::vector<std::string>& settings_words,
                                         const PackedBenchmarkOptions& options,
                                         const std::function<int()>& stop, Log& log);

// Of two rows of a summary for one number of workers. Writes to the packed one: loss_difference,
// the largest relative difference of a worker's last loss, then speedup, or failure when the
// difference is above the tolerance: what computes something else is not faster.
void compare_modes(const Json& sequential, Json& packed, double tolerance);

// The table of a summary.
std::string packed_table(const Json& summary);

}  // namespace saddle::bench
