// A wish to stop, from SIGINT, SIGTERM or SIGUSR1. The handler only sets a flag, which long work
// looks at between its steps; a second signal ends the process at once.
#pragma once

#include <csignal>

namespace saddle {

class StopSignals {
 public:
  // Installs the handlers; the destructor restores what was there. One object at a time.
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  // The signal that asked to stop, or 0.
  int requested() const;

 private:
  struct sigaction previous_[3];
};

}  // namespace saddle
