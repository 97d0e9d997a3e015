// `saddle submit-analysis`: the checkpoints of an analysis divided among jobs. Each job is a
// separate analysis; their results are combined into one directory as `saddle analyze` makes it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "cluster/driver.h"
#include "cluster/submission.h"

namespace saddle::cluster {

struct AnalysisSubmission {
  analysis::AnalysisOptions analysis;  // the whole; its output is the combined directory
  int64_t jobs = 1;
  std::optional<Path> profile;  // a finished analysis with times, if walltime_hours is not set
  bool resume = false;
  SubmissionControl control;
};

struct AnalysisSubmissionOutcome {
  bool combined = false;  // false: stopped, or not watched; the jobs keep running
  Json cases;             // of the combined directory
  Submission submission;
};

// The words of `saddle analyze` for some checkpoints of an analysis, written into `output`; paths
// are absolute.
std::vector<std::string> analysis_words(const analysis::AnalysisOptions& options,
                                        const std::vector<std::string>& checkpoints,
                                        const Path& output);

// Describes what would be submitted: assignments, times, and the first job's script. Writes
// nothing. Errors: those of submit_analysis() before it submits.
std::string describe_analysis_submission(const AnalysisSubmission& request);

// Submits, watches, validates and combines. Errors: kUsage for wrong options; kConfig when the
// directory contains a submission without `resume`, or none with `resume`, when the submission has
// other settings or was made by another program, when no wall time is known, and when a job would
// exceed the limit of its partition; kIo when another process has locked the directory, when Slurm
// does not answer, and when work failed, is unknown or lost (the message says what to do); those of
// analysis::run_analysis().
AnalysisSubmissionOutcome submit_analysis(const AnalysisSubmission& request,
                                          const std::function<int()>& stop, Log& log);

}  // namespace saddle::cluster
