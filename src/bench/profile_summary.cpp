#include "bench/profile_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/text_table.h"

namespace saddle::bench {
namespace {

double seconds_of(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

// The time in which the shares of two or more threads overlap.
double shared_seconds(const backend::Profile& profile) {
  std::vector<std::pair<int64_t, int>> changes;  // of the number of threads at work
  for (int thread = 0; thread < profile.threads(); ++thread) {
    for (const backend::Profile::Share& share : profile.shares(thread)) {
      changes.emplace_back(share.begin, 1);
      changes.emplace_back(share.end, -1);
    }
  }
  std::ranges::sort(changes);
  int64_t shared = 0, last = 0;
  int working = 0;
  for (const auto& [time, change] : changes) {
    if (working >= 2) shared += time - last;
    working += change;
    last = time;
  }
  return seconds_of(shared);
}

}  // namespace

ProfileSummary summarize(const backend::Profile& profile) {
  ProfileSummary summary;
  std::map<std::pair<std::string, std::string>, ProfiledOperation> found;
  for (const backend::Profile::Region& region : profile.regions()) {
    if (region.depth == 0) {
      summary.wall_seconds += seconds_of(region.end - region.begin);
      continue;
    }
    ProfiledOperation& operation = found[{region.group, region.name}];
    ++operation.calls;
    operation.total_seconds += seconds_of(region.end - region.begin);
    operation.self_seconds += seconds_of(region.self);
    operation.operations += region.operations;
    summary.covered_seconds += seconds_of(region.self);
  }
  for (auto& [key, operation] : found) {
    operation.name = key.first + " " + key.second;
    summary.operations.push_back(std::move(operation));
  }
  summary.threads = profile.threads();
  summary.single_thread_seconds = summary.wall_seconds - shared_seconds(profile);
  std::ranges::stable_sort(summary.operations, std::greater(), &ProfiledOperation::self_seconds);
  return summary;
}

Json to_json(const ProfileSummary& summary, double peak) {
  Json operations = Json::array();
  for (const ProfiledOperation& operation : summary.operations) {
    Json entry = {{"name", operation.name},
                  {"calls", operation.calls},
                  {"total_seconds", operation.total_seconds},
                  {"self_seconds", operation.self_seconds},
                  {"operations_per_second", nullptr},
                  {"share_of_peak", nullptr}};
    if (operation.operations > 0) {
      const double rate = operation.operations / operation.self_seconds;
      entry["operations_per_second"] = json_number(rate);
      entry["share_of_peak"] = json_number(rate / peak);
    }
    operations.push_back(std::move(entry));
  }
  return {{"wall_seconds", summary.wall_seconds},
          {"covered_share", summary.covered_share()},
          {"single_thread_share",
           summary.threads > 1 ? json_number(summary.single_thread_seconds / summary.wall_seconds)
                               : Json()},
          {"operations", std::move(operations)}};
}

std::string profile_table(const Json& profile) {
  const double wall = profile["wall_seconds"].get<double>();
  const auto seconds_text = [](double seconds) { return fmt::format("{:.4f}", seconds); };
  const auto share_text = [&](double seconds) {
    return fmt::format("{:.1f}", 100 * seconds / wall);
  };
  const auto rate_text = [](const Json& number, double unit) {
    return number.is_number() ? fmt::format("{:.1f}", number.get<double>() / unit) : "n/a";
  };
  TextTable table;
  table.add({"operation", "calls", "self s", "% of time", "total s", "GFLOP/s", "% of peak"});
  for (const Json& operation : profile["operations"]) {
    const double self = operation["self_seconds"].get<double>();
    table.add({operation["name"], operation["calls"].dump(), seconds_text(self), share_text(self),
               seconds_text(operation["total_seconds"].get<double>()),
               rate_text(operation["operations_per_second"], 1e9),
               rate_text(operation["share_of_peak"], 0.01)});
  }
  const double rest = wall * (1 - profile["covered_share"].get<double>());
  table.add({"(between operations)", "", seconds_text(rest), share_text(rest)});
  return table.text();
}

}  // namespace saddle::bench
