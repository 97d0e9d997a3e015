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

inline constexpr double kWorthGain = 0.05;  // the gain from which a change is recommended

struct BenchmarkOptions {
  std::vector<int64_t> micro_batch_sizes = {4, 8, 16, 32};  // sequences
  double budget_seconds = 75 * 60;                          // of the tuner
};

struct BenchmarkOutcome {
  bool stopped = false;
  Json summary;  // summary.json: rows, left_out, selected; from the tuner: decisions, recommended
};

// Measures every microbatch size that the optimizer batch of `given` allows, both operation by
// operation and as the plan. Errors: kUsage for sizes that are not positive, kConfig if none fits.
BenchmarkOutcome run_grid(const config::Settings& given, const BenchmarkOptions& options,
                          Campaign& campaign);

// Stages: `given` against its compiled form; the microbatch sizes; then the compile modes,
// attention kernels and thread counts that this device has. Each stage varies the best candidate so
// far; its fastest replaces the best if it is kWorthGain faster (or if the best could not be
// measured). A candidate is not started if it might exceed the budget, judging by the longest one
// so far; one that still runs at the end of the budget is killed. Errors: kUsage for a budget that
// is not positive.
BenchmarkOutcome run_tuner(const config::Settings& given, const BenchmarkOptions& options,
                           Campaign& campaign);

// The device on which this program computes: the processor, because there is no GPU backend.
std::string computing_device();

// Errors: kDevice if `device` is not an NVIDIA GH200.
void require_gh200(std::string_view device);

}  // namespace saddle::bench
