// The counters of a run: the contents of a state file other than weights and moments.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "train/evaluation.h"

namespace saddle::train {

// The seconds that a run spent, summed over its resumed pieces.
struct RunSeconds {
  double startup = 0;  // before the first update of each piece
  double training = 0;
  double evaluation = 0;
  double checkpoints = 0;
  double first_update = 0;  // the duration of the first update of the last piece, part of training

  // Since the first update began, without the startups of later pieces.
  double elapsed() const { return training + evaluation + checkpoints; }
};

// An evaluation of the fixed subset.
struct EvaluationRecord {
  int64_t epoch = 0;
  int64_t step = 0;
  int64_t tokens = 0;
  EvaluationResult result;
};

struct RunState {
  int64_t step = 0;                  // updates done
  int64_t position = 0;              // blocks done: the loader's position
  int64_t evaluated_epochs = 0;      // epochs whose subset was evaluated
  std::optional<double> train_loss;  // of the last update
  std::optional<EvaluationRecord> last_evaluation;
  std::optional<EvaluationRecord> best;
  RunSeconds seconds;
};

// Numbers that are not finite become null, and null is read as NaN.
Json to_json(const EvaluationResult& result);
Json to_json(const EvaluationRecord& record);
Json to_json(const RunSeconds& seconds);
Json to_json(const RunState& state);
// Errors: kData, beginning with `where`, when a field is missing or of another type.
RunState run_state_from_json(const Json& json, std::string_view where);

}  // namespace saddle::train
