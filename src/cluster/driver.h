// Submits the work of a submission to Slurm and follows it. Every step is recorded before and
// after it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/log.h"
#include "cluster/batch_text.h"
#include "cluster/submission.h"

namespace saddle::cluster {

struct WatchOptions {
  double poll_seconds = 15;
  double unknown_minutes = 10;  // give up after only unknown states for this long
};

// How a person steers a submission.
struct SubmissionControl {
  std::optional<double> walltime_hours;  // of each job
  Site site;
  bool watch = true;  // false: return when everything is submitted
  WatchOptions watching;
  std::vector<std::pair<int64_t, std::string>> adopt;  // work and its job
  std::vector<int64_t> forget;

  // Nothing without walltime_hours. Errors: kUsage for a time not longer than the warning before
  // its end.
  std::optional<int64_t> wall_seconds() const;
};

// Errors: those of wall_seconds(); kConfig when the time in the control is over the limit
// of the partition, if sinfo shows one.
void check_given_time(const SubmissionControl& control);

enum class WatchEnd {
  kSucceeded,  // all work
  kStopped,    // `stop` returned a signal; the jobs keep running
  kUnsettled,  // further watching cannot settle the rest
};

class Driver {
 public:
  // `record`: the file submission.json, locked by the caller; scripts, logs and end notes are in
  // `jobs` in the same directory. Writes the record.
  Driver(Path record, Submission submission, Log& log);

  const Submission& submission() const { return submission_; }

  // A person reports that work whose job id was lost is this job. Errors: kUsage when work `index`
  // is not lost, or `id` is not a job id.
  void adopt(int64_t index, const std::string& id);
  // A person reports that there is no job for this work, whose id was lost or whose state is
  // unknown. Errors: kUsage when it has another state.
  void forget(int64_t index);
  // Applies what the control says about lost and unknown work, and its time limit for what is due.
  // Errors: those of check_given_time(), adopt() and forget().
  void apply(const SubmissionControl& control);

  // Finds what ended in failure but was then put back into the queue by Slurm: it is open again.
  // Errors: kIo when squeue does not answer for one of them.
  void revive();

  // Warns about lost work and explains how a person can reconcile it.
  void report_lost();

  // Submits what is due: a job for each piece of work, or one array; but not what Slurm itself put
  // back into the queue after a failure. After a refusal nothing more is submitted. Lost work is
  // never submitted. `stop` is called between two jobs.
  // Errors: kConfig when a job would ask for more than the limit of its partition, before any is
  // submitted; those of check_slurm_answers() and revive().
  void submit_due(const std::function<int()>& stop);

  // Asks Slurm about all open work; true when something changed. The record is then written.
  bool refresh();

  WatchEnd watch(const WatchOptions& options, const std::function<int()>& stop);

  // The job of this work succeeded, but its results are not what was requested.
  void reject(int64_t index, const std::string& why);

  // Errors: kIo, naming every piece of work that is not done and what to do; `command` resumes this
  // submission.
  [[noreturn]] void fail_unsettled(const std::string& command) const;

  // The description for Slurm of a submission of `due` (numbers of work). `attempt`: its number.
  static JobDescription description(const Submission& submission, const Path& jobs,
                                    const std::vector<int64_t>& due, int64_t attempt);

 private:
  void submit_group(const std::vector<int64_t>& due);
  void save() const { write_submission(record_, submission_); }

  Path record_;
  Path jobs_;
  Submission submission_;
  Log& log_;
};

// Updates the state of a submission's open work from Slurm; true when something changed.
bool refresh(Submission& submission, Log& log);

}  // namespace saddle::cluster
