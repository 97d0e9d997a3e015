// A measurement in a process of its own: its memory is separate, and if it fails the others
// continue.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/process.h"

namespace saddle {

struct CandidateOutcome {
  enum class Kind { kMeasured, kFailed, kTimedOut, kStopped };
  Kind kind = Kind::kFailed;
  std::optional<Json> record{};  // when measured
  std::string failure{};         // why it was not
};

// The outcome of a candidate whose process ended with `result` under this time limit. A candidate
// that had succeeded before a signal reached it counts as measured. `read_record` returns the
// record that it wrote, or throws an Error.
CandidateOutcome outcome_of(const ProcessResult& result, double time_limit_seconds,
                            const std::function<Json()>& read_record);

// Runs this program with `words` and --parent PID, which the command must pass to
// end_with_parent(), and reads the JSON that it prints. A failure, output that is not JSON, an
// exceeded time limit (0: none) and a stop are outcomes, not errors; `stop` returns the number of a
// signal, or 0.
CandidateOutcome run_candidate(const std::vector<std::string>& words, double time_limit_seconds,
                               const std::function<int()>& stop);

// Checks the value of --time-limit (0: none). Errors: kUsage unless it is finite and at least 0.
void check_time_limit(double seconds);

// The middle one of `values`, or the mean of the two middle ones. `values` must not be empty.
double median(std::vector<double> values);

}  // namespace saddle
