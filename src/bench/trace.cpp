#include "bench/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"

namespace saddle::bench {
namespace {

constexpr int kProcess = 1;

std::string metadata(const char* what, int64_t thread, const Json& args) {
  return Json{{"name", what}, {"ph", "M"}, {"pid", kProcess}, {"tid", thread}, {"args", args}}
      .dump();
}

// Microseconds with all digits of the nanoseconds, so that spans also nest in the file.
std::string microseconds(int64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

}  // namespace

Trace::Trace(const std::string& process) : process_(process) {
  tracks_.push_back({process, {}});
}

Trace::Trace(const std::string& process, const backend::Profile& profile) : process_(process) {
  for (int thread = 0; thread < profile.threads(); ++thread) {
    Track track{fmt::format("thread {}", thread), {}};
    if (thread == 0) {  // before the shares inside them, which may span the same nanoseconds
      for (const backend::Profile::Region& region : profile.regions()) {
        track.events.push_back(
            {region.name, region.group, region.begin, region.end, region.operations});
      }
    }
    for (const backend::Profile::Share& share : profile.shares(thread)) {
      track.events.push_back({share.name, "share", share.begin, share.end});
    }
    tracks_.push_back(std::move(track));
  }
  // Outer spans before those inside them.
  std::ranges::stable_sort(tracks_.front().events, [](const Event& a, const Event& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
}

void Trace::add(std::string_view name, double begin, double end) {
  const auto nanoseconds = [](double seconds) { return std::llround(seconds * 1e9); };
  tracks_.front().events.push_back({name, "update", nanoseconds(begin), nanoseconds(end)});
}

void Trace::write(const Path& path) const {
  AtomicFile file(path);
  file.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  file.write(metadata("process_name", 1, {{"name", process_}}));
  for (size_t t = 0; t < tracks_.size(); ++t) {
    const auto thread = static_cast<int64_t>(t) + 1;
    file.write(",\n" + metadata("thread_name", thread, {{"name", tracks_[t].name}}));
    file.write(",\n" + metadata("thread_sort_index", thread, {{"sort_index", thread}}));
  }
  for (size_t t = 0; t < tracks_.size(); ++t) {
    for (const Event& event : tracks_[t].events) {
      file.write(fmt::format(
          ",\n{{\"name\":{},\"cat\":{},\"ph\":\"X\",\"ts\":{},\"dur\":{},"
          "\"pid\":{},\"tid\":{}",
          Json(event.name).dump(), Json(event.category).dump(), microseconds(event.begin),
          microseconds(event.end - event.begin), kProcess, t + 1));
      if (event.operations > 0) {
        file.write(fmt::format(",\"args\":{{\"operations\":{}}}", Json(event.operations).dump()));
      }
      file.write("}");
    }
  }
  file.write("\n]}\n");
  file.commit();
}

}  // namespace saddle::bench
