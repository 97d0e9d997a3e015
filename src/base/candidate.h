// A measurement in a process of its own: its memory is its own, and when it fails the others go on.
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

// What became of the candidate whose process ended with `result` under this time limit: one that
// had ended well by itself before a signal reached it has been measured. `read_record` gives the
// record that it left, or an Error.
CandidateOutcome outcome_of(const ProcessResult& result, double time_limit_seconds,
                            const std::function<Json()>& read_record);

// Runs this program with `words` and --parent PID, which the command must pass to
// end_with_parent(), and reads the JSON that it prints. A failure, output that is
// not JSON, a time limit that was passed (0: none) and a stop are outcomes, not errors; `stop`
// gives the number of a signal, or 0.
CandidateOutcome run_candidate(const std::vector<std::string>& words, double time_limit_seconds,
                               const std::function<int()>& stop);

// Of --time-limit; 0 is none. Errors: kUsage unless it is a finite number of at least 0.
void check_time_limit(double seconds);

// The middle one of `values`, or the mean of the two middle ones. There must be one.
double median(std::vector<double> values);

}  // namespace saddle
