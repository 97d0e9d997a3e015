// The trainings of a sweep on this machine, one after another, each in a separate process.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/process.h"
#include "bench/sweep.h"

namespace saddle::bench {

// Training refuses the directory of a run that it can neither start nor continue. The directory of
// a run that ended before it had a state is therefore renamed to NAME.unfinished, or, if that
// exists, to NAME.unfinished-2 and so on. Errors: kIo.
void set_aside_what_cannot_go_on(const SweepRun& run, Log& log);

// Runs this program with `words` and waits for it. When `stop` returns a signal, the training
// receives the same signal, saves and ends.
using StartTraining = std::function<ProcessResult(const std::vector<std::string>& words,
                                                  const std::function<int()>& stop)>;
ProcessResult start_training(const std::vector<std::string>& words,
                             const std::function<int()>& stop);

struct SweepOutcome {
  bool stopped = false;
  int exit_code = 0;  // of the first run that failed: 75 if a signal sent only to it stopped it, 70
                      // if one killed it
  Json summary;       // sweep_summary; a failed row has failure, exit_code and log
};

// Starts every run that is not finished, in order, and writes into the directory of the sweep:
// sweep.json first; logs/NAME.log, the output of a run; progress.json, summary.json and
// summary.csv, rewritten after each run. A run that fails does not end the others. A run that ended
// before it had a state starts again; its old directory is renamed to NAME.unfinished. `stop`
// returns the number of a signal, or 0: on a signal the current run saves, and no other is started.
// Errors: those of claim_sweep_directory; kIo if another process uses the directory.
SweepOutcome run_sweep(const SweepPlan& plan, const StartTraining& start,
                       const std::function<int()>& stop, Log& log);

}  // namespace saddle::bench
