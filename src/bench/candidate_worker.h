// One measurement of training speed in a separate process.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/candidate.h"
#include "base/files.h"
#include "base/json.h"
#include "bench/measurement_identity.h"

namespace saddle::bench {

struct CandidateRequest {
  std::string name;
  Path settings_file;  // YAML with every setting
  Path record;         // the file that the candidate writes
  Protocol protocol;
  double time_limit_seconds = 0;  // 0: none
};

struct CandidateEnd {
  using Kind = CandidateOutcome::Kind;
  Kind kind = Kind::kFailed;
  std::optional<Json> record{};  // if measured
  std::string failure{};         // the reason otherwise
  std::string printed{};         // all terminal output
  double seconds = 0;            // from start to end of the process
};

// Runs a candidate; `stop` returns the number of a signal, or 0.
using RunCandidate =
    std::function<CandidateEnd(const CandidateRequest&, const std::function<int()>& stop)>;

// Runs this program as `benchmark-worker` in a separate process group, which is killed as a whole
// at the time limit and on a stop.
CandidateEnd run_benchmark_worker(const CandidateRequest& request,
                                  const std::function<int()>& stop);

// The same for any program; `command` must write request.record. `program`: see ProcessOptions.
CandidateEnd run_candidate_command(const std::vector<std::string>& command,
                                   const CandidateRequest& request,
                                   const std::function<int()>& stop, const Path& program = {});

}  // namespace saddle::bench
