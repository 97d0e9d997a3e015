// `saddle benchmark`: the grid of microbatches and executions, and the staged tuner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "bench/campaign.h"
#include "config/settings.h"

namespace saddle::bench {

inline constexpr double kWorthGain = 0.05;  // what a change must gain to be recommended

struct BenchmarkOptions {
  std::vector<int64_t> micro_batch_sizes = {4, 8, 16, 32};  // sequences
  double budget_seconds = 75 * 60;                          // of the tuner
};

struct BenchmarkOutcome {
  bool stopped = false;
  Json summary;  // summary.json: rows, left_out, selected; of the tuner decisions, recommended
};

// Measures every microbatch that the optimizer batch of `given` allows, run operation by operation
// and as the plan. Errors: kUsage for sizes that are not positive, kConfig when none is left.
BenchmarkOutcome run_grid(const config::Settings& given, const BenchmarkOptions& options,
                          Campaign& campaign);

// Stages: `given` against its compiled form; the microbatches; then compile modes, attention
// kernels and thread counts, as far as this device has them. Each stage varies the best so far, and
// its best replaces that when it is kWorthGain faster (or when that could not be measured). No
// candidate is started that would not end within the budget by the longest one so far, and one that
// is running then is killed. Errors: kUsage for a budget that is not positive.
BenchmarkOutcome run_tuner(const config::Settings& given, const BenchmarkOptions& options,
                           Campaign& campaign);

// What this program computes on: the processor, since there is no GPU backend.
std::string computing_device();

// Errors: kDevice when `device` is no NVIDIA GH200.
void require_gh200(std::string_view device);

}  // namespace saddle::bench
