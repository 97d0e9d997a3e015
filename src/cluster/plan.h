// Assigns items to jobs, and decides how long each job may run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace saddle::cluster {

// The numbers 0 to items - 1, dealt out in turn: job j gets j, j + jobs, j + 2 jobs, ... With more
// jobs than items there are only as many jobs as items. Errors: kUsage for fewer than one job.
std::vector<std::vector<int64_t>> round_robin(int64_t items, int64_t jobs);

// Twice the estimate plus 30 minutes, rounded up to a whole hour; all in seconds.
int64_t wall_seconds(double estimate_seconds);

// The wall times of a division among jobs, from the time of each item in seconds.
struct TimePlan {
  std::vector<int64_t> wall_seconds;     // of each job
  std::optional<int64_t> jobs_that_fit;  // the fewest under the limit; nothing: no number does
};

// The time of every job of round_robin(seconds.size(), jobs), and the fewest jobs with which each
// stays within the limit of a partition.
TimePlan plan_times(const std::vector<double>& seconds, int64_t jobs,
                    std::optional<int64_t> limit_seconds);

// The same if only a time for each of `jobs` jobs is given: it is assumed to grow with the number
// of items.
TimePlan plan_given_time(int64_t items, int64_t jobs, int64_t given_seconds,
                         std::optional<int64_t> limit_seconds);

// Errors: kConfig when a job is longer than the limit; the message says how many jobs would fit.
void check_limit(const TimePlan& plan, std::optional<int64_t> limit_seconds,
                 const std::string& partition);

}  // namespace saddle::cluster
