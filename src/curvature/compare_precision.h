// `saddle compare-precision`: what bf16 autocast does to curvature at checkpoints of a run.
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

namespace saddle::curvature {

inline constexpr const char* kPrecisionFile = "precision.json";

struct PrecisionOptions {
  Path run;                              // its resolved.yaml holds the settings
  std::optional<Path> cache;             // a larger token cache in place of the run's data.cache
  std::vector<std::string> checkpoints;  // as find_checkpoints() takes them
  DataCaseKind data_case = DataCaseKind::kSeen;
  std::optional<int64_t> noise_samples = 32;  // nothing: all that there are
  int64_t random_samples = 32;
  int64_t seed = 42;           // of samples and random directions
  int64_t hvp_batch_size = 0;  // sequences of a curvature microbatch; 0: of a training microbatch
  double memory_gib = 4;       // for the directions of a group
  int64_t threads = 0;         // 0: every core of this process
  bool autocast = true;        // false: float32 twice, where nothing must differ
  Path output;
};

struct PrecisionOutcome {
  bool completed = false;  // false: `stop` asked to stop; what is finished is kept
  int64_t measured = 0;    // checkpoints, by this call
  int64_t reused = 0;      // checkpoints that were there
  Json comparisons;        // of all that the file holds
};

// Compares at every checkpoint and writes output/precision.json, whole after each of them:
//
//   format, run, identity (analysis_identity.h, with case.name and case.data)
//   comparisons   [{checkpoint, case, what compare_precision_json.h gives, measured: {finished,
//                 seconds, threads, libraries, machine}}]
//
// A checkpoint that is finished there is taken as it is. `stop` gives the number of a signal, or 0
// to go on. Errors: kUsage for options that are out of range; kConfig when the file was made with
// other settings, naming those, when the directory holds other files, and when a checkpoint does
// not exist; kIo when another process has the directory; those of DataCase and of
// measure_precision().
PrecisionOutcome compare_precision(const PrecisionOptions& options,
                                   const std::function<int()>& stop, Log& log);

}  // namespace saddle::curvature
