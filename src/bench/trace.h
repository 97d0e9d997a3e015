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
  // Time begins now, with one track, of the process's name.
  explicit Trace(const std::string& process);
  // One track for each thread of a profile: regions on the first, below them and on the others what
  // the threads did of parallel loops and products. Names are taken, not copied.
  Trace(const std::string& process, const backend::Profile& profile);

  double now() const { return watch_.seconds(); }
  // A span in seconds, as of now(), on the first track. `name` must outlive the trace.
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
