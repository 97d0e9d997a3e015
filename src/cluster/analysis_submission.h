// `saddle submit-analysis`: the checkpoints of an analysis divided among jobs, each an analysis of
// its own, whose results are put together into one directory as `saddle analyze` makes it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "cluster/driver.h"
#include "cluster/submission.h"
#include "curvature/analysis.h"

namespace saddle::cluster {

struct AnalysisSubmission {
  curvature::AnalysisOptions analysis;  // of the whole; its output is the directory of all
  int64_t jobs = 1;
  std::optional<Path> profile;  // a finished analysis that tells times, without walltime_hours
  bool resume = false;
  SubmissionControl control;
};

struct AnalysisSubmissionOutcome {
  bool combined = false;  // false: stopped, or not watched; the jobs run on
  Json cases;             // of the combined directory
  Submission submission;
};

// The words of `saddle analyze` for some checkpoints of an analysis, written into `output`; paths
// are absolute.
std::vector<std::string> analysis_words(const curvature::AnalysisOptions& options,
                                        const std::vector<std::string>& checkpoints,
                                        const Path& output);

// What would be submitted: assignments, times, and the script of the first job. Writes nothing.
// Errors: those of submit_analysis() before it submits.
std::string describe_analysis_submission(const AnalysisSubmission& request);

// Submits, watches, validates and combines. Errors: kUsage for wrong options; kConfig when the
// directory holds a submission and `resume` was not asked for, or holds none and it was, when the
// submission is of other settings or of another program, when no wall time can be told, and when a
// job would pass the limit of its partition; kIo when another process has the directory, when Slurm
// does not answer, and when work ended in failure, is unknown or lost, with what to do; those of
// curvature::run_analysis().
AnalysisSubmissionOutcome submit_analysis(const AnalysisSubmission& request,
                                          const std::function<int()>& stop, Log& log);

}  // namespace saddle::cluster
