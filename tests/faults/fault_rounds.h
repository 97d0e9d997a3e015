// The number of times that a fault is provoked, and the random moments.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/environment.h"
#include "base/random.h"
#include "support/started_program.h"

namespace saddle {

// A few rounds in a test run; scripts/faults.sh requests a hundred.
inline int fault_rounds() {
  const std::string rounds = environment_variable("SADDLE_FAULT_ROUNDS");
  return rounds.empty() ? 6 : std::max(1, std::atoi(rounds.c_str()));
}

// Random moments within the duration of undisturbed work.
class RandomMoments {
 public:
  explicit RandomMoments(double seconds)
      : seconds_(seconds),
        random_(static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()),
                RandomPurpose::kTest) {}

  void sleep() {
    const double seconds = seconds_ * random_.uniform(next_++);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }

 private:
  double seconds_;
  RandomStream random_;
  uint64_t next_ = 0;
};

}  // namespace saddle
