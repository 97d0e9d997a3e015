// `saddle sweep --slurm`: the trainings of a grid as one job array.
#pragma once

#include <cstdint>
#include <functional>

#include "base/json.h"
#include "base/log.h"
#include "bench/sweep.h"
#include "cluster/driver.h"
#include "cluster/submission.h"

namespace saddle::cluster {

struct SweepSubmission {
  bench::SweepPlan plan;
  int64_t at_once = 0;  // tasks of the array; 0: as many as Slurm allows
  SubmissionControl control;
};

struct SweepSubmissionOutcome {
  bool finished = false;  // false: stopped, or not watched; the jobs keep running
  Json summary;           // bench::sweep_summary
  Submission submission;
};

// Submits the runs that are not finished, or continues the submission found in the directory:
// what ended in failure is submitted again, as an array of those tasks. Writes sweep.json,
// submission.json, and at the end summary.json and summary.csv, as bench::run_sweep() does.
// Errors: kConfig for a directory of another sweep or another program, and for a time limit over
// that of the partition; kIo when another process has locked the directory, when Slurm does not
// answer, and when work failed, is unknown or lost; those of bench::claim_sweep_directory().
SweepSubmissionOutcome submit_sweep(const SweepSubmission& request,
                                    const std::function<int()>& stop, Log& log);

}  // namespace saddle::cluster
