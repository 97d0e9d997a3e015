#include "bench/candidate_worker.h"

#include <csignal>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"

namespace saddle::bench {
namespace {

std::string signal_text(int signal) {
  const char* hint = signal == SIGKILL ? ", as the system does when memory runs out" : "";
  return fmt::format("ended by signal {}{}", signal, hint);
}

}  // namespace

CandidateEnd run_candidate_command(const std::vector<std::string>& command,
                                   const CandidateRequest& request,
                                   const std::function<int()>& stop) {
  const Stopwatch watch;
  const ProcessResult result =
      run_process(command, {.directory = {},
                            .time_limit_seconds = request.time_limit_seconds,
                            .stop = [&stop] { return stop() != 0; },
                            .pass_signal = {}});
  CandidateEnd end;
  end.seconds = watch.seconds();
  end.printed = result.output + result.errors;
  // One that had ended by itself before the signal reached it has been measured.
  if (result.succeeded()) {
    try {
      end.record = read_json(request.record);
      end.kind = CandidateEnd::Kind::kMeasured;
    } catch (const Error& error) {
      end.failure = error.what();
    }
  } else if (result.stopped) {
    end.kind = CandidateEnd::Kind::kStopped;
  } else if (result.timed_out) {
    end.kind = CandidateEnd::Kind::kTimedOut;
    const double limit = request.time_limit_seconds;
    end.failure =
        limit < 10 ? fmt::format("over {:g} s", limit) : fmt::format("over {:.0f} s", limit);
  } else if (result.signal != 0) {
    end.failure = signal_text(result.signal);
  } else {
    end.failure = result.last_words();
  }
  return end;
}

CandidateEnd run_benchmark_worker(const CandidateRequest& request,
                                  const std::function<int()>& stop) {
  const Protocol& protocol = request.protocol;
  return run_candidate_command(
      {this_program().string(), "benchmark-worker", "--config", request.settings_file.string(),
       "--data-mode", protocol.data_mode, "--warmup", std::to_string(protocol.warmup), "--steps",
       std::to_string(protocol.steps), "--windows", std::to_string(protocol.windows), "--output",
       request.record.string(), "--parent", std::to_string(this_process())},
      request, stop);
}

}  // namespace saddle::bench
