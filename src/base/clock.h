// Time: seconds from a monotonic clock, and text for human readers.
#pragma once

#include <chrono>
#include <string>

namespace saddle {

// Seconds since construction or the last restart().
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void restart() { start_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

std::string utc_timestamp();                 // 2026-01-31T12:00:00Z
std::string human_duration(double seconds);  // 3.2 s, 4 min 05 s, 2 h 10 min
std::string human_count(double count);       // 950, 12.3 k, 20.4 M

}  // namespace saddle
