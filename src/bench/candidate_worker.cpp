#include "bench/candidate_worker.h"

#include <utility>

#include "base/clock.h"
#include "base/process.h"
#include "base/this_program.h"

namespace saddle::bench {

CandidateEnd run_candidate_command(const std::vector<std::string>& command,
                                   const CandidateRequest& request,
                                   const std::function<int()>& stop, const Path& program) {
  const Stopwatch watch;
  const ProcessResult result =
      run_process(command, {.program = program,
                            .directory = {},
                            .time_limit_seconds = request.time_limit_seconds,
                            .stop = [&stop] { return stop() != 0; },
                            .pass_signal = {}});
  CandidateEnd end;
  end.seconds = watch.seconds();
  end.printed = result.output + result.errors;
  CandidateOutcome outcome = outcome_of(result, request.time_limit_seconds,
                                        [&request] { return read_json(request.record); });
  end.kind = outcome.kind;
  end.record = std::move(outcome.record);
  end.failure = std::move(outcome.failure);
  return end;
}

CandidateEnd run_benchmark_worker(const CandidateRequest& request,
                                  const std::function<int()>& stop) {
  const Protocol& protocol = request.protocol;
  return run_candidate_command(
      {"saddle", "benchmark-worker", "--config", request.settings_file.string(), "--data-mode",
       protocol.data_mode, "--warmup", std::to_string(protocol.warmup), "--steps",
       std::to_string(protocol.steps), "--windows", std::to_string(protocol.windows), "--output",
       request.record.string(), "--parent", std::to_string(this_process())},
      request, stop, kRunningProgram);
}

}  // namespace saddle::bench
