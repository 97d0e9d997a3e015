#include "cluster/sweep_submission.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/this_program.h"
#include "bench/sweep_run.h"

namespace saddle::cluster {
namespace {

const bench::SweepRun& run_of(const bench::SweepPlan& plan, const Work& work) {
  const auto run = std::ranges::find_if(
      plan.runs, [&work](const bench::SweepRun& known) { return known.name == work.title; });
  if (run == plan.runs.end()) {
    fail(ErrorKind::kData, "the record of the submission has a run '{}' that is not in the sweep",
         work.title);
  }
  return *run;
}

Submission new_submission(const SweepSubmission& request) {
  const bench::SweepPlan& plan = request.plan;
  const Path program = path_of_this_program();
  Submission submission;
  submission.token = new_token(plan.directory);
  submission.array = true;
  submission.at_once = request.at_once;
  submission.directory = std::filesystem::current_path();
  submission.about = {{"kind", "sweep"},
                      {"created", utc_timestamp()},
                      {"source", source_description()},
                      {"identity", plan.identity}};
  for (const bench::SweepRun& run : plan.runs) {
    if (bench::run_progress(run) == bench::RunProgress::kFinished) continue;
    Work work;
    work.title = run.name;
    work.results = run.directory;
    work.command = {program.string()};
    const auto words = bench::train_words(plan, run);
    work.command.insert(work.command.end(), words.begin(), words.end());
    work.wall_seconds = request.control.wall_seconds().value_or(0);
    submission.work.push_back(std::move(work));
  }
  return submission;
}

Submission begun_or_found(const SweepSubmission& request, const Path& record) {
  if (!std::filesystem::exists(file_status(record))) return new_submission(request);
  Submission submission = read_submission(record);
  check_same_source(submission, record);
  submission.at_once = request.at_once;
  return submission;
}

Json write_summary(const bench::SweepPlan& plan) {
  Json rows = Json::array();
  for (const bench::SweepRun& run : plan.runs) rows.push_back(bench::sweep_row(plan, run));
  Json summary = bench::sweep_summary(plan, rows);
  write_json(plan.directory / "summary.json", summary);
  write_file_atomically(plan.directory / "summary.csv", bench::sweep_csv(summary));
  return summary;
}

void check_finished(const bench::SweepPlan& plan, Driver& driver) {
  const auto count = static_cast<int64_t>(driver.submission().work.size());
  for (int64_t index = 0; index < count; ++index) {
    const Work& work = driver.submission().work[static_cast<size_t>(index)];
    if (!work.succeeded()) continue;
    if (bench::run_progress(run_of(plan, work)) != bench::RunProgress::kFinished) {
      driver.reject(index, "it ended without a result");
    }
  }
}

}  // namespace

SweepSubmissionOutcome submit_sweep(const SweepSubmission& request,
                                    const std::function<int()>& stop, Log& log) {
  const bench::SweepPlan& plan = request.plan;
  check_given_time(request.control);
  make_directories(plan.directory);
  const FileLock lock(plan.directory / "lock",
                      fmt::format("a sweep in '{}'", plan.directory.string()));
  remove_unfinished_files(plan.directory);
  bench::claim_sweep_directory(plan);
  const Path record = std::filesystem::absolute(plan.directory / kSubmissionFile);
  Driver driver(record, begun_or_found(request, record), log);
  driver.refresh();
  driver.apply(request.control);
  driver.report_lost();
  check_finished(plan, driver);
  driver.revive();
  for (const Work& work : driver.submission().work) {
    if (work.due()) bench::set_aside_what_cannot_go_on(run_of(plan, work), log);
  }
  check_program(driver.submission(), record);
  driver.submit_due(stop);
  const WatchEnd end =
      request.control.watch ? driver.watch(request.control.watching, stop) : WatchEnd::kStopped;
  log.finish_progress();
  check_finished(plan, driver);
  SweepSubmissionOutcome outcome;
  outcome.summary = write_summary(plan);
  outcome.submission = driver.submission();
  if (end == WatchEnd::kStopped) {
    log.info("no longer watching; the jobs keep running, and the same command continues");
    return outcome;
  }
  for (const Work& work : driver.submission().work) {
    if (!work.succeeded()) driver.fail_unsettled("the same command");
  }
  outcome.finished = true;
  return outcome;
}

}  // namespace saddle::cluster
