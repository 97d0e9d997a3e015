// Training: from settings and a token cache to the files of a run.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/log.h"
#include "config/settings.h"
#include "train/run_state.h"

namespace saddle::train {

struct TrainOptions {
  std::string resume;  // a state file, "auto" (train/resume.h), or empty
  // Called between updates and between batches of an evaluation; returns the signal that asks to
  // stop, or 0.
  std::function<int()> stop = [] { return 0; };
};

struct TrainOutcome {
  bool completed = false;  // false: stopped on request, after the update in progress
  RunState state;
  std::optional<EvaluationResult> validation;  // of the whole split, when completed
};

// Trains according to `settings`, which must have been checked, in runtime.output_dir. When asked
// to stop, it finishes the update in progress and writes latest.state.safetensors unless the
// checkpoint policy is none. Resuming a finished run repeats the validation at its end and writes
// the same result. Errors: kConfig for a used directory, a cache of another vocabulary, a state of
// another recipe; kData for damaged files and a cache that is too small; kIo; kNumeric when a loss,
// a gradient norm, the loss of an evaluation, or a weight or moment to be saved is not finite: the
// weights, moments and counters on disk are then those of the last checkpoint, which are finite.
TrainOutcome run_training(const config::Settings& settings, const TrainOptions& options, Log& log);

// The number of threads according to runtime.threads; 0: every core of this process.
int computing_threads(const config::Settings& settings);

}  // namespace saddle::train
