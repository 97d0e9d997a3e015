// `saddle compare-precision`: the effect of bf16 autocast on curvature at checkpoints of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "curvature/data_case.h"

namespace saddle::precision {

inline constexpr const char* kPrecisionFile = "precision.json";

struct PrecisionOptions {
  Path run;                              // its resolved.yaml holds the settings
  std::optional<Path> cache;             // a larger token cache in place of the run's data.cache
  std::vector<std::string> checkpoints;  // as find_checkpoints() takes them
  curvature::DataCaseKind data_case = curvature::DataCaseKind::kSeen;
  std::optional<int64_t> noise_samples = 32;  // nothing: all
  int64_t random_samples = 32;
  int64_t seed = 42;           // of samples and random directions
  int64_t hvp_batch_size = 0;  // sequences of a curvature microbatch; 0: of a training microbatch
  double memory_gib = 4;       // for the directions of a group
  int64_t threads = 0;         // 0: every core of this process
  bool autocast = true;        // false: float32 twice, which must not differ
  Path output;
};

struct PrecisionOutcome {
  bool completed = false;  // false: `stop` asked to stop; finished checkpoints are kept
  int64_t measured = 0;    // checkpoints, by this call
  int64_t reused = 0;      // checkpoints that were already finished
  Json comparisons;        // all comparisons of the file
};

// Compares at every checkpoint and writes output/precision.json, whole after each of them:
//
//   format, run, identity (analysis_identity.h, with case.name and case.data)
//   comparisons   [{checkpoint, case, the fields of compare_precision_json.h, measured: {finished,
//                 seconds, threads, libraries, machine}}]
//
// Checkpoints that are already finished there are reused. `stop` returns the number of a signal, or
// 0 to continue. Errors: kUsage for options that are out of range; kConfig if the file was made
// with other settings, naming them, if the directory holds other files, and if a checkpoint does
// not exist; kIo if another process has the directory; those of DataCase and of
// measure_precision().
PrecisionOutcome compare_precision(const PrecisionOptions& options,
                                   const std::function<int()>& stop, Log& log);

}  // namespace saddle::precision
