// A trace of named spans of time, in the JSON format that Perfetto and chrome://tracing open
// ("Trace Event Format": complete events, which nest on each track, and names as metadata).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/profile.h"
#include "base/clock.h"
#include "base/files.h"

namespace saddle::bench {

class Trace {
 public:
  // Time starts now. There is one track, with the name of the process.
  explicit Trace(const std::string& process);
  // One track for each thread of a profile: the first shows the regions, and every track the shares
  // of its thread in parallel loops and products. Names are referenced, not copied.
  Trace(const std::string& process, const backend::Profile& profile);

  double now() const { return watch_.seconds(); }
  // Adds a span to the first track; seconds are those of now(). `name` must outlive the trace.
  void add(std::string_view name, double begin, double end);

  void write(const Path& path) const;

 private:
  struct Event {
    std::string_view name, category;
    int64_t begin = 0, end = 0;  // nanoseconds
    double operations = 0;       // 0: not counted
  };
  struct Track {
    std::string name;
    std::vector<Event> events;
  };

  Stopwatch watch_;
  std::string process_;
  std::vector<Track> tracks_;
};

}  // namespace saddle::bench
