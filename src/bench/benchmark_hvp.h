// Measures the time and memory of quadratic forms: one candidate in this process, and a table of
// candidates, each in its own process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "config/settings.h"
#include "curvature/quadratic_forms.h"

namespace saddle::bench {

// One way of computing the forms of one batch.
struct HvpCandidate {
  curvature::Method method = curvature::Method::kAdjointWeighted;
  int64_t batch_size = 1;  // sequences, in one microbatch
  int64_t directions = 8;  // random signs, from runtime.seed
  int64_t rounds = 3;      // timed, after one untimed round
  Path checkpoint;         // weights; empty: the initial ones of runtime.seed
};

// The measurements of a candidate.
struct HvpMeasurement {
  std::vector<double> forms;    // v'Hv of each direction
  std::vector<double> seconds;  // per round: one batch along all directions
  int64_t peak_memory_bytes = 0;
};

// Measures in this process, so that its peak memory is the candidate's. `settings` give model,
// precision (runtime.dtype, runtime.amp), threads and seed. Tokens: the first blocks of data.cache
// if there is one, else random ids. Errors: kConfig if the cache has too few tokens or another
// vocabulary; kNumeric if a form is not finite; those of the weights.
HvpMeasurement measure_hvp(const config::Settings& settings, const HvpCandidate& candidate);

Json to_json(const HvpMeasurement& measurement);

struct HvpBenchmarkOptions {
  std::vector<curvature::Method> methods;
  std::vector<int64_t> batch_sizes;
  int64_t directions = 8;
  int64_t rounds = 3;
  Path checkpoint;                // empty: initial weights
  bool reference = true;          // compare with forward-reverse in float64
  double time_limit_seconds = 0;  // of one candidate; 0: none
  Path output;                    // directory for summary.json; empty: none
};

// A row of the table.
struct HvpRow {
  curvature::Method method = curvature::Method::kAdjointWeighted;
  int64_t batch_size = 0;
  std::optional<HvpMeasurement> measurement;
  std::string failure;               // why there is no measurement
  std::optional<double> difference;  // largest |form / reference - 1|
  bool over_memory = false;          // peak over 90% of the machine's memory
  double seconds() const;            // median of the rounds
  double tokens_per_second_and_direction = 0;
};

struct HvpTable {
  std::vector<HvpRow> rows;
  std::optional<size_t> selected;  // the fastest that did not fail or exceed the memory
};

// Appends a row. If it was measured with a peak over 90% of `memory_bytes`, it is marked and never
// selected; otherwise it is selected if it is the fastest so far.
void add_row(HvpTable& table, HvpRow row, double memory_bytes);

// Runs every candidate as `saddle benchmark-hvp-candidate` with these command-line words for its
// settings. Nothing if `stop` returned a signal. Errors: kUsage for batch sizes, directions or
// rounds below 1; those of files. A candidate that fails becomes a row.
std::optional<HvpTable> run_hvp_benchmark(const config::Settings& settings,
                                          const std::vector<std::string>& settings_words,
                                          const HvpBenchmarkOptions& options,
                                          const std::function<int()>& stop, Log& log);

std::string hvp_table(const HvpTable& table, int64_t directions);

}  // namespace saddle::bench
