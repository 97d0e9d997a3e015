#include "base/candidate.h"

#include <algorithm>

#include "base/error.h"
#include "base/process.h"

namespace saddle {

CandidateOutcome run_candidate(const std::vector<std::string>& words, double time_limit_seconds,
                               const std::function<int()>& stop) {
  std::vector<std::string> command = {this_program().string()};
  command.insert(command.end(), words.begin(), words.end());
  command.insert(command.end(), {"--parent", std::to_string(this_process())});
  const ProcessResult result = run_process(
      command, {.time_limit_seconds = time_limit_seconds, .stop = [&stop] { return stop() != 0; }});
  CandidateOutcome outcome;
  if (result.stopped) {
    outcome.failure = "stopped";
  } else if (result.timed_out) {
    outcome.failure = fmt::format("over {:g} s", time_limit_seconds);
  } else if (result.signal != 0) {
    outcome.failure = fmt::format("ended by signal {}", result.signal);
  } else if (!result.succeeded()) {
    outcome.failure = result.last_words();
  } else {
    try {
      outcome.record = parse_json(result.output, "the output of a candidate");
    } catch (const Error& error) {
      outcome.failure = error.what();
    }
  }
  return outcome;
}

double median(std::vector<double> values) {
  if (values.empty()) fail(ErrorKind::kInternal, "the median of no values");
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace saddle
