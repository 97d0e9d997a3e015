#include "bench/trace.h"

#include <utility>

namespace saddle::bench {
namespace {

constexpr double kMicroseconds = 1e6;

}  // namespace

Trace::Trace(std::string process) {
  for (const char* what : {"process_name", "thread_name"}) {
    events_.push_back(
        {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", 1}, {"args", {{"name", process}}}});
  }
}

void Trace::add(std::string_view name, double begin, double end) {
  events_.push_back({{"name", name},
                     {"cat", "update"},
                     {"ph", "X"},
                     {"ts", begin * kMicroseconds},
                     {"dur", (end - begin) * kMicroseconds},
                     {"pid", 1},
                     {"tid", 1}});
}

void Trace::write(const Path& path) const {
  write_json(path, {{"traceEvents", events_}, {"displayTimeUnit", "ms"}});
}

}  // namespace saddle::bench
