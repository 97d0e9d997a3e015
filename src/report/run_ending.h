// The state of a run: finished, running, stopped or failed.
#pragma once

#include <string>

#include "base/files.h"
#include "report/runs.h"

namespace saddle::report {

struct RunEnding {
  Status status = Status::kStopped;
  std::string note;  // why it is not finished, or empty
};

// From result.json, the lock that a running process holds, and the end of run.log.
RunEnding run_ending(const Path& directory);

}  // namespace saddle::report
