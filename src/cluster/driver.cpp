#include "cluster/driver.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "cluster/slurm.h"

namespace saddle::cluster {
namespace {

std::optional<EndNote> read_end_note(const Path& file) {
  if (!std::filesystem::exists(file_status(file))) return std::nullopt;
  return parse_end_note(read_file(file));
}

std::string number_text(int64_t index) {
  return fmt::format("{:03}", index);
}

void sleep_watching(double seconds, const std::function<int()>& stop) {
  const Stopwatch watch;
  while (watch.seconds() < seconds && stop() == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

std::string counts_text(const Submission& submission) {
  std::map<std::string, int64_t> counts;
  for (const Work& work : submission.work) {
    if (work.last() == nullptr || !work.last()->refusal.empty()) {
      ++counts["not submitted"];
    } else if (work.lost()) {
      ++counts["lost"];
    } else {
      ++counts[std::string(job_state_name(work.last()->found.state))];
    }
  }
  std::string text;
  for (const auto& [state, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, state);
  }
  return text;
}

void check_partition(const Site& site, int64_t seconds) {
  const PartitionLimit limit = partition_limit(site);
  if (!limit.seconds || seconds <= *limit.seconds) return;
  fail(ErrorKind::kConfig,
       "a job would ask for {}, over the limit {} of the partition '{}': give fewer "
       "--walltime-hours, or another partition",
       slurm_time(seconds), slurm_time(*limit.seconds), limit.partition);
}

}  // namespace

std::optional<int64_t> SubmissionControl::wall_seconds() const {
  if (!walltime_hours) return std::nullopt;
  if (!(*walltime_hours > 0) || !(*walltime_hours < 1e5)) {
    fail(ErrorKind::kUsage, "--walltime-hours is {}: a number above 0 was expected",
         *walltime_hours);
  }
  const auto seconds = static_cast<int64_t>(3600 * *walltime_hours);
  if (seconds <= site.signal_seconds) {
    fail(ErrorKind::kUsage,
         "--walltime-hours is {}: it must be longer than the {} s of Slurm's warning before the "
         "time limit (signal_seconds of the site)",
         *walltime_hours, site.signal_seconds);
  }
  return seconds;
}

void check_given_time(const SubmissionControl& control) {
  if (const auto seconds = control.wall_seconds()) check_partition(control.site, *seconds);
}

Driver::Driver(Path record, Submission submission, Log& log)
    : record_(std::move(record)),
      jobs_(record_.parent_path() / "jobs"),
      submission_(std::move(submission)),
      log_(log) {
  make_directories(jobs_);
  save();
}

void Driver::adopt(int64_t index, const std::string& id) {
  if (index < 0 || index >= static_cast<int64_t>(submission_.work.size()) ||
      !submission_.work[static_cast<size_t>(index)].lost()) {
    fail(ErrorKind::kUsage, "--adopt {}={}: work {} is not one whose job id was lost", index, id,
         index);
  }
  if (!is_job_id(id)) {
    fail(ErrorKind::kUsage, "--adopt {}={}: the number of a job was expected", index, id);
  }
  Attempt& attempt = submission_.work[static_cast<size_t>(index)].attempts.back();
  attempt.id = id;
  attempt.log = log_file(attempt.log, id);
  save();
}

void Driver::forget(int64_t index) {
  const auto known = static_cast<int64_t>(submission_.work.size());
  const Work* work =
      index < 0 || index >= known ? nullptr : &submission_.work[static_cast<size_t>(index)];
  const bool unknown =
      work != nullptr && work->open() && work->last()->found.state == JobState::kUnknown;
  if (work == nullptr || !(work->lost() || unknown)) {
    fail(ErrorKind::kUsage,
         "--forget {}: work {} is not one whose job id was lost or whose state is unknown", index,
         index);
  }
  submission_.work[static_cast<size_t>(index)].attempts.back().refusal =
      "a person reported that there is no such job";
  save();
}

void Driver::apply(const SubmissionControl& control) {
  check_given_time(control);
  for (const auto& [index, id] : control.adopt) adopt(index, id);
  for (const int64_t index : control.forget) forget(index);
  submission_.site = control.site;
  if (const auto seconds = control.wall_seconds()) {
    for (Work& work : submission_.work) {
      if (work.due()) work.wall_seconds = *seconds;
    }
  }
  save();
}

void Driver::report_lost() {
  for (size_t i = 0; i < submission_.work.size(); ++i) {
    const Work& work = submission_.work[i];
    if (!work.lost()) continue;
    const std::vector<std::string> ids = ids_of_name(work.last()->name);
    log_.warn(
        "work {} ({}): sbatch was called at {}, but its answer is not known; it is not submitted "
        "again. {}. Continue with --adopt {}=JOB if that is the job, or --forget {} if there is "
        "none",
        i, work.title, work.last()->submitted,
        ids.empty() ? fmt::format("Slurm lists no job named {} now", work.last()->name)
                    : fmt::format("Slurm lists these jobs named {}: {}", work.last()->name,
                                  fmt::join(ids, ", ")),
        i, i);
  }
}

JobDescription Driver::description(const Submission& submission, const Path& jobs,
                                   const std::vector<int64_t>& due, int64_t attempt) {
  JobDescription job;
  job.site = submission.site;
  job.directory = submission.directory;
  job.array = submission.array;
  job.tasks_at_once = submission.at_once;
  const std::string which = submission.array ? "array" : number_text(due.at(0));
  job.name = fmt::format("saddle-{}-{}-{}", submission.token, which, attempt);
  job.log = log_pattern(jobs, submission.array);
  for (const int64_t index : due) {
    const Work& work = submission.work[static_cast<size_t>(index)];
    job.wall_seconds = std::max(job.wall_seconds, work.wall_seconds);
    job.tasks.push_back({index, work.command,
                         jobs / fmt::format("{}-attempt-{}.end", number_text(index), attempt)});
  }
  return job;
}

void Driver::submit_group(const std::vector<int64_t>& due) {
  int64_t number = 1;
  for (const int64_t index : due) {
    const auto& attempts = submission_.work[static_cast<size_t>(index)].attempts;
    if (!attempts.empty()) number = std::max(number, attempts.back().number + 1);
  }
  if (submission_.array) {  // the name belongs to the array, one for each number
    for (const Work& work : submission_.work) {
      for (const Attempt& attempt : work.attempts) number = std::max(number, attempt.number + 1);
    }
  }
  const JobDescription job = description(submission_, jobs_, due, number);
  const Path script =
      jobs_ /
      fmt::format("{}-attempt-{}.sh", submission_.array ? "array" : number_text(due.at(0)), number);
  write_file_atomically(script, batch_text(job));
  for (size_t i = 0; i < due.size(); ++i) {
    Attempt attempt;
    attempt.number = number;
    attempt.name = job.name;
    attempt.submitted = utc_timestamp();
    attempt.script = script;
    attempt.log = job.log;
    attempt.end_note = job.tasks[i].end_note;
    attempt.changed = attempt.submitted;
    submission_.work[static_cast<size_t>(due[i])].attempts.push_back(attempt);
  }
  save();
  const SubmitOutcome outcome = submit(own_options(job), script.string());
  for (const int64_t index : due) {
    Attempt& attempt = submission_.work[static_cast<size_t>(index)].attempts.back();
    if (outcome.job) {
      attempt.id =
          submission_.array ? fmt::format("{}_{}", outcome.job->id, index) : outcome.job->id;
      attempt.cluster = outcome.job->cluster;
      attempt.log = log_file(attempt.log, attempt.id);
      attempt.found = {JobState::kPending, "sbatch", "submitted", ""};
    } else if (outcome.refused) {
      attempt.refusal = outcome.message;
    }
  }
  save();
  if (outcome.job) {
    log_.info("submitted {} as job {}, attempt {}", job.name, outcome.job->id, number);
  } else if (outcome.refused) {
    log_.warn("{} was refused: {}", job.name, outcome.message);
  } else {
    log_.warn("it is not known whether {} became a job: {}", job.name, outcome.message);
  }
}

// A job may have restarted after a node failure or preemption that we saw as its end.
void Driver::revive() {
  bool changed = false;
  for (Work& work : submission_.work) {
    if (!work.due() || work.last() == nullptr || work.last()->id.empty()) continue;
    Attempt& attempt = work.attempts.back();
    const Evidence evidence{ask_queue({attempt.id}, attempt.cluster), std::nullopt, std::nullopt};
    if (!evidence.queue) {
      fail(ErrorKind::kIo,
           "squeue does not show whether job {} ({}), which ended in failure, is back in the "
           "queue: nothing was submitted again",
           attempt.id, work.title);
    }
    const Judgement now = judge(attempt.id, attempt.name, evidence);
    if (now.state != JobState::kPending && now.state != JobState::kRunning) continue;
    attempt.found = now;
    attempt.refusal.clear();  // a person had reported, wrongly, that there is no such job
    attempt.changed = utc_timestamp();
    changed = true;
    log_.info("job {} ({}) is back in the queue: {}", attempt.id, work.title, now.detail);
  }
  if (changed) save();
}

void Driver::submit_due(const std::function<int()>& stop) {
  revive();
  std::vector<int64_t> due;
  for (size_t i = 0; i < submission_.work.size(); ++i) {
    if (submission_.work[i].due()) due.push_back(static_cast<int64_t>(i));
  }
  if (due.empty()) return;
  check_slurm_answers();
  int64_t longest = 0;
  for (const int64_t index : due) {
    longest = std::max(longest, submission_.work[static_cast<size_t>(index)].wall_seconds);
  }
  check_partition(submission_.site, longest);
  if (submission_.array) {
    submit_group(due);
    return;
  }
  for (const int64_t index : due) {
    if (stop() != 0) return;
    submit_group({index});
    const Attempt& attempt = submission_.work[static_cast<size_t>(index)].attempts.back();
    if (attempt.id.empty()) return;
  }
}

bool refresh(Submission& submission, Log& log) {
  std::map<std::string, std::vector<std::string>> ids;  // of each cluster
  for (const Work& work : submission.work) {
    if (work.open()) ids[work.last()->cluster].push_back(work.last()->id);
  }
  bool changed = false;
  for (const auto& [cluster, open] : ids) {
    Evidence evidence{ask_queue(open, cluster), ask_accounting(open, cluster), std::nullopt};
    for (size_t i = 0; i < submission.work.size(); ++i) {
      Work& work = submission.work[i];
      if (!work.open() || work.last()->cluster != cluster) continue;
      Attempt& attempt = work.attempts.back();
      evidence.note = read_end_note(attempt.end_note);
      const Judgement now = judge(attempt.id, attempt.name, evidence);
      if (now.state != attempt.found.state) {
        log.info("job {} ({}): {}, {}", attempt.id, work.title, job_state_name(now.state),
                 now.detail);
        attempt.changed = utc_timestamp();
      }
      changed = changed || now.state != attempt.found.state || now.detail != attempt.found.detail;
      attempt.found = now;
    }
  }
  return changed;
}

bool Driver::refresh() {
  const bool changed = cluster::refresh(submission_, log_);
  if (changed) save();
  return changed;
}

WatchEnd Driver::watch(const WatchOptions& options, const std::function<int()>& stop) {
  Stopwatch unknown;
  while (true) {
    refresh();
    log_.progress(counts_text(submission_));
    bool open = false, only_unknown = true, all = true;
    for (const Work& work : submission_.work) {
      all = all && work.succeeded();
      open = open || work.open();
      if (work.open() && work.last()->found.state != JobState::kUnknown) only_unknown = false;
    }
    if (all) return WatchEnd::kSucceeded;
    if (!open) return WatchEnd::kUnsettled;
    if (!only_unknown) unknown.restart();
    if (unknown.seconds() >= 60 * options.unknown_minutes) return WatchEnd::kUnsettled;
    if (stop() != 0) return WatchEnd::kStopped;
    sleep_watching(options.poll_seconds, stop);
  }
}

void Driver::reject(int64_t index, const std::string& why) {
  Attempt& attempt = submission_.work[static_cast<size_t>(index)].attempts.back();
  attempt.found = {JobState::kFailed, "saddle", why, attempt.found.exit_code};
  attempt.changed = utc_timestamp();
  save();
}

void Driver::fail_unsettled(const std::string& command) const {
  std::string list;
  for (size_t i = 0; i < submission_.work.size(); ++i) {
    const Work& work = submission_.work[i];
    if (work.succeeded()) continue;
    std::string what = "not submitted";
    if (work.lost()) {
      what = "its job id was lost";
    } else if (work.last() != nullptr && !work.last()->refusal.empty()) {
      what = work.last()->refusal;
    } else if (work.last() != nullptr) {
      what = fmt::format("job {} {}: {}, log {}", work.last()->id,
                         job_state_name(work.last()->found.state), work.last()->found.detail,
                         work.last()->log.string());
    }
    list += fmt::format("{}work {} ({}): {}", list.empty() ? "" : "; ", i, work.title, what);
  }
  fail(ErrorKind::kIo,
       "not all work is done: {}. '{}' continues: it resubmits what ended in "
       "failure and keeps the rest",
       list, command);
}

}  // namespace saddle::cluster
