#include "base/candidate.h"

#include <algorithm>
#include <cmath>
#include <csignal>

#include "base/error.h"
#include "base/this_program.h"

namespace saddle {
namespace {

std::string signal_text(int signal) {
  const char* hint = signal == SIGKILL ? ", as the system does when memory runs out" : "";
  return fmt::format("ended by signal {}{}", signal, hint);
}

std::string limit_text(double seconds) {
  return seconds < 10 ? fmt::format("over {:g} s", seconds) : fmt::format("over {:.0f} s", seconds);
}

}  // namespace

CandidateOutcome outcome_of(const ProcessResult& result, double time_limit_seconds,
                            const std::function<Json()>& read_record) {
  using Kind = CandidateOutcome::Kind;
  if (result.succeeded()) {
    try {
      return {.kind = Kind::kMeasured, .record = read_record()};
    } catch (const Error& error) {
      return {.kind = Kind::kFailed, .failure = error.what()};
    }
  }
  if (result.stopped) return {.kind = Kind::kStopped, .failure = "stopped"};
  if (result.timed_out) {
    return {.kind = Kind::kTimedOut, .failure = limit_text(time_limit_seconds)};
  }
  return {.kind = Kind::kFailed,
          .failure = result.signal != 0 ? signal_text(result.signal) : result.last_words()};
}

CandidateOutcome run_candidate(const std::vector<std::string>& words, double time_limit_seconds,
                               const std::function<int()>& stop) {
  std::vector<std::string> candidate = words;
  candidate.insert(candidate.end(), {"--parent", std::to_string(this_process())});
  const ProcessResult result = run_this_program(
      candidate,
      {.time_limit_seconds = time_limit_seconds, .stop = [&stop] { return stop() != 0; }});
  return outcome_of(result, time_limit_seconds,
                    [&result] { return parse_json(result.output, "the output of a candidate"); });
}

void check_time_limit(double seconds) {
  if (std::isfinite(seconds) && seconds >= 0) return;
  fail(ErrorKind::kUsage, "--time-limit is {}, but must be a number of seconds of at least 0",
       seconds);
}

double median(std::vector<double> values) {
  if (values.empty()) fail(ErrorKind::kInternal, "the median of no values");
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace saddle
