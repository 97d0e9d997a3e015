// A trace of named spans of time, in the JSON format that Perfetto and chrome://tracing open
// ("Trace Event Format", complete events).
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"

namespace saddle::bench {

class Trace {
 public:
  // Time begins now.
  explicit Trace(std::string process);

  double now() const { return watch_.seconds(); }
  // A span in seconds, as of now().
  void add(std::string_view name, double begin, double end);
  void write(const Path& path) const;

 private:
  Stopwatch watch_;
  Json events_ = Json::array();
};

}  // namespace saddle::bench
