// `saddle analyze`: measures curvature at checkpoints of a run and stores it in a directory of
// results.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "config/settings.h"
#include "curvature/data_case.h"
#include "curvature/quadratic_forms.h"
#include "curvature/spectrum.h"

namespace saddle::analysis {

struct AnalysisOptions {
  Path run;                   // its resolved.yaml holds the settings
  std::optional<Path> cache;  // a larger token cache in place of the run's data.cache
  std::vector<std::string> checkpoints = {"all"};
  std::vector<curvature::DataCaseKind> cases = {curvature::DataCaseKind::kSeen,
                                                curvature::DataCaseKind::kUnseen};
  std::optional<int64_t> noise_samples = 32;  // nothing: all
  int64_t random_samples = 32;
  int64_t seed = 42;  // of samples and random directions
  curvature::Method method = curvature::Method::kAdjointWeighted;
  config::Precision dtype = config::Precision::kFloat32;
  bool amp = false;              // bf16 autocast in the forward pass
  int64_t hvp_batch_size = 0;    // sequences of a curvature microbatch; 0: of a training microbatch
  double memory_gib = 4;         // for the directions of a group
  int64_t threads = 0;           // 0: every core of this process
  bool consensus = true;         // for a packed run: also measure the errors of its workers
  std::vector<Path> directions;  // files of weights, each a direction
  std::vector<std::array<std::string, 2>> between;  // pairs of checkpoints; directions: differences
  curvature::SpectrumOptions spectrum;              // eigenvalues of the Hessian, if requested
  Path output;
};

// Errors: kUsage for options that contradict each other or are out of range.
void check_analysis_options(const AnalysisOptions& options);

struct AnalysisOutcome {
  bool completed = false;  // false: `stop` asked to stop; finished cases are kept
  int64_t measured = 0;    // cases, by this call
  int64_t reused = 0;      // cases that were already finished
  Json cases;              // all cases of the directory (ResultsDirectory::cases)
};

// Measures every checkpoint on every data case and writes `output` (results_directory.h); cases
// that are already finished there are reused. `stop` returns the number of a signal, or 0 to
// continue. Errors: kUsage for options that contradict each other or are out of range; kConfig if
// the directory was made with other settings, naming them, if a checkpoint does not exist, if two
// directions have the same name, and those of DataCase; kData for damaged or unsuitable weights,
// directions and caches, for a direction that is zero, and for a file that changed during the
// analysis; kIo if another process has the directory; those of measure_case().
AnalysisOutcome run_analysis(const AnalysisOptions& options, const std::function<int()>& stop,
                             Log& log);

}  // namespace saddle::analysis
