// The evaluation of a single weight or state file.
#pragma once

#include <functional>
#include <optional>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "config/settings.h"
#include "train/run_state.h"

namespace saddle::train {

struct CheckpointEvaluation {
  EvaluationResult result;
  bool full = false;
  // Only with `full`: the loss on the same targets of the token frequencies in the budget's
  // training tokens (data::unigram_validation_loss), nats per target.
  std::optional<double> unigram_loss;
};

// Evaluates the weights in `checkpoint` on the fixed subset, or with `full` on the whole validation
// split of data.cache: the numbers that training with these settings logs for the same weights.
// Returns nothing if stopped by `stop`. Errors: kData for a file that is damaged or of another
// model, kNumeric when the loss is not finite, those of the cache.
std::optional<CheckpointEvaluation> evaluate_checkpoint(const config::Settings& settings,
                                                        const Path& checkpoint, bool full,
                                                        const std::function<int()>& stop, Log& log);

Json to_json(const CheckpointEvaluation& evaluation, const Path& checkpoint);

}  // namespace saddle::train
