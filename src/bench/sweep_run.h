// The trainings of a sweep on this machine, one after another, each in a process of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/process.h"
#include "bench/sweep.h"

namespace saddle::bench {

// Training refuses a directory with a run that it can neither begin nor continue: one that was
// ended before it had a state is renamed to NAME.unfinished, or to NAME.unfinished-2 and so on when
// that is taken. Errors: kIo.
void set_aside_what_cannot_go_on(const SweepRun& run, Log& log);

// Runs this program with `words` and waits for it. When `stop` gives a signal, the training gets
// the same, saves and ends.
using StartTraining = std::function<ProcessResult(const std::vector<std::string>& words,
                                                  const std::function<int()>& stop)>;
ProcessResult start_training(const std::vector<std::string>& words,
                             const std::function<int()>& stop);

struct SweepOutcome {
  bool stopped = false;
  int exit_code = 0;  // of the first run that failed: 75 when a signal of its own stopped it, 70
                      // when one killed it
  Json summary;       // sweep_summary; a failed row has failure, exit_code and log
};

// Starts every run that is not finished, in order, and writes into the directory of the sweep:
// sweep.json first; logs/NAME.log, what a run printed; progress.json, summary.json and summary.csv,
// rewritten after each run. A run that fails does not end the others. One that ended before it
// had a state to go on from begins again; what it left is renamed to NAME.unfinished. `stop` gives
// the number of a signal, or 0: the run in progress saves, and no other is started.
// Errors: those of claim_sweep_directory; kIo when another process holds the directory.
SweepOutcome run_sweep(const SweepPlan& plan, const StartTraining& start,
                       const std::function<int()>& stop, Log& log);

}  // namespace saddle::bench
