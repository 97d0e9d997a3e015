#include "cluster/plan.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "cluster/slurm_output.h"

namespace saddle::cluster {
namespace {

constexpr int64_t kHour = 3600;
constexpr double kSpare = 1800;

int64_t longest(const TimePlan& plan) {
  return *std::ranges::max_element(plan.wall_seconds);
}

// The plan for `jobs` jobs, and the fewest jobs that fit; `times` gives the wall times of a
// division.
template <class Times>
TimePlan planned(int64_t items, int64_t jobs, std::optional<int64_t> limit, const Times& times) {
  TimePlan plan{times(std::min(jobs, items)), std::nullopt};
  for (int64_t count = 1; count <= items && !plan.jobs_that_fit; ++count) {
    if (!limit || longest({times(count), {}}) <= *limit) plan.jobs_that_fit = count;
  }
  return plan;
}

}  // namespace

std::vector<std::vector<int64_t>> round_robin(int64_t items, int64_t jobs) {
  if (jobs < 1) fail(ErrorKind::kUsage, "--jobs is {}: at least 1 was expected", jobs);
  std::vector<std::vector<int64_t>> dealt(static_cast<size_t>(std::min(items, jobs)));
  for (int64_t item = 0; item < items; ++item) {
    dealt[static_cast<size_t>(item) % dealt.size()].push_back(item);
  }
  return dealt;
}

int64_t wall_seconds(double estimate_seconds) {
  const double seconds = 2 * estimate_seconds + kSpare;
  return static_cast<int64_t>(std::ceil(seconds / static_cast<double>(kHour))) * kHour;
}

TimePlan plan_times(const std::vector<double>& seconds, int64_t jobs,
                    std::optional<int64_t> limit_seconds) {
  const auto items = static_cast<int64_t>(seconds.size());
  return planned(items, jobs, limit_seconds, [&](int64_t count) {
    std::vector<int64_t> times;
    for (const auto& dealt : round_robin(items, count)) {
      double sum = 0;
      for (const int64_t item : dealt) sum += seconds[static_cast<size_t>(item)];
      times.push_back(wall_seconds(sum));
    }
    return times;
  });
}

TimePlan plan_given_time(int64_t items, int64_t jobs, int64_t given_seconds,
                         std::optional<int64_t> limit_seconds) {
  const auto most = [items](int64_t count) { return (items + count - 1) / count; };
  const int64_t used = std::min(jobs, items);
  return planned(items, jobs, limit_seconds, [&](int64_t count) {
    if (count == used) return std::vector<int64_t>(static_cast<size_t>(count), given_seconds);
    const double each = static_cast<double>(given_seconds) / static_cast<double>(most(used));
    const double hours = std::ceil(each * static_cast<double>(most(count)) / kHour);
    return std::vector<int64_t>(static_cast<size_t>(count), static_cast<int64_t>(hours) * kHour);
  });
}

void check_limit(const TimePlan& plan, std::optional<int64_t> limit_seconds,
                 const std::string& partition) {
  if (!limit_seconds || longest(plan) <= *limit_seconds) return;
  fail(ErrorKind::kConfig, "a job would ask for {}, over the limit {} of the partition '{}': {}",
       slurm_time(longest(plan)), slurm_time(*limit_seconds), partition,
       plan.jobs_that_fit ? fmt::format("with --jobs {} every job would fit", *plan.jobs_that_fit)
                          : std::string("not even one checkpoint per job would fit"));
}

}  // namespace saddle::cluster
