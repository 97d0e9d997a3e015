// What an analysis would measure, determined without measuring it, for dividing it among processes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/analysis_checkpoints.h"
#include "base/files.h"
#include "base/json.h"
#include "config/settings.h"
#include "curvature/data_case.h"
#include "data/cache.h"

namespace saddle::analysis {

class AnalysisPlan {
 public:
  // Reads what run_analysis() would read, and writes nothing. Errors: those of run_analysis()
  // before it measures.
  explicit AnalysisPlan(const AnalysisOptions& options);

  const config::Settings& settings() const { return settings_; }
  const std::vector<Checkpoint>& checkpoints() const { return checkpoints_; }
  const std::vector<std::unique_ptr<curvature::DataCase>>& cases() const { return cases_; }
  const Json& identity() const { return identity_; }  // analysis_identity.h

  // The work of one checkpoint on one case, in targets of training (docs/guides/analysis.md, "What
  // it costs").
  double work(const curvature::DataCase& data) const;

 private:
  AnalysisOptions options_;
  config::Settings settings_;
  data::TokenCache cache_;
  std::vector<Checkpoint> checkpoints_;
  std::vector<std::unique_ptr<curvature::DataCase>> cases_;
  int64_t own_directions_ = 0;
  Json identity_;
};

// The quantities that decide the work of a case.
struct CaseWork {
  double targets = 0;        // of the epoch
  double noise_targets = 0;  // of the batches of all noise samples
  double directions = 0;     // noise samples and all others
  double products = 0;       // Hessian-vector products of Lanczos
};
double work_of(const CaseWork& work);

// Seconds per unit of work() that a finished analysis in `directory` took, over all its cases with
// a recorded time. Errors: kConfig if there are none, or if its method, precision, curvature
// microbatch or model is not that of `identity`, naming the differences; kData for damaged files.
double measured_seconds_per_work(const Path& directory, const Json& identity);

}  // namespace saddle::analysis
