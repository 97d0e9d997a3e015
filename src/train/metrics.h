// metrics.jsonl: one JSON object per line, for programs. Numbers that are not finite are null.
#pragma once

#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "train/run_state.h"

namespace saddle::train {

// Reduces a metrics file to what the run had written when it was at `state`: train lines up to its
// step and evaluations up to its epochs. Lines that are not JSON (the last one of a killed process)
// are dropped with a warning. The file is replaced atomically; a missing file stays missing.
void cut_metrics(const Path& path, const RunState& state, Log& log);

class MetricsFile {
 public:
  // Appends to `path`, and creates it if missing.
  explicit MetricsFile(Path path) : file_(std::move(path)) {}

  // Writes one line at once. Errors: kIo.
  void append(const Json& line);

 private:
  AppendFile file_;
};

// The kinds of a line, its "type".
inline constexpr const char* kTrainLine = "train";
inline constexpr const char* kWorkersLine = "workers";        // of several workers, every update
inline constexpr const char* kEvaluationLine = "evaluation";  // of the fixed subset
inline constexpr const char* kValidationLine = "validation";  // of the whole split

}  // namespace saddle::train
