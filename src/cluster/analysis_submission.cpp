#include "cluster/analysis_submission.h"

#include <algorithm>
#include <filesystem>

#include "analysis/analysis_identity.h"
#include "analysis/analysis_plan.h"
#include "analysis/figures.h"
#include "analysis/results_directory.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text_table.h"
#include "base/this_program.h"
#include "cluster/plan.h"
#include "cluster/slurm.h"

namespace saddle::cluster {
namespace {

using analysis::AnalysisPlan;
using analysis::Checkpoint;
using analysis::ResultsDirectory;

// The wall times of a new submission of `items` (numbers of checkpoints).
TimePlan times_of(const AnalysisSubmission& request, const AnalysisPlan& plan,
                  const std::vector<const Checkpoint*>& items, const PartitionLimit& limit,
                  Json& timing) {
  const auto count = static_cast<int64_t>(items.size());
  if (const auto seconds = request.control.wall_seconds()) {
    timing = {{"walltime_hours", *request.control.walltime_hours}};
    return plan_given_time(count, request.jobs, *seconds, limit.seconds);
  }
  if (!request.profile) {
    fail(ErrorKind::kConfig,
         "the time of a job is not known: give --walltime-hours, or with --profile a finished "
         "analysis of this model with these settings on such a machine");
  }
  const double each = analysis::measured_seconds_per_work(*request.profile, plan.identity());
  double work = 0;
  for (const auto& data : plan.cases()) work += plan.work(*data);
  timing = {{"profile", std::filesystem::absolute(*request.profile).string()},
            {"seconds_per_target", json_number(each)},
            {"targets_per_checkpoint", json_number(work)},
            {"seconds_per_checkpoint", json_number(each * work)}};
  return plan_times(std::vector<double>(items.size(), each * work), request.jobs, limit.seconds);
}

std::string joined_names(const Checkpoint& checkpoint) {
  return fmt::format("{}", fmt::join(checkpoint.names, "="));
}

Submission new_submission(const AnalysisSubmission& request, const AnalysisPlan& plan,
                          const std::vector<const Checkpoint*>& items) {
  const Path output = std::filesystem::absolute(request.analysis.output).lexically_normal();
  const Path program = path_of_this_program();
  const PartitionLimit limit = partition_limit(request.control.site);
  Submission submission;
  submission.token = new_token(output);
  submission.directory = std::filesystem::current_path();
  submission.site = request.control.site;
  Json timing;
  const TimePlan times = times_of(request, plan, items, limit, timing);
  timing["rule"] = request.control.walltime_hours
                       ? "given"
                       : "twice the estimate plus 30 minutes, rounded up to an hour";
  check_limit(times, limit.seconds, limit.partition);
  submission.about = {{"kind", "analysis"},
                      {"created", utc_timestamp()},
                      {"run", std::filesystem::absolute(request.analysis.run).string()},
                      {"source", source_description()},
                      {"identity", plan.identity()},
                      {"analyze", analysis_words(request.analysis, request.analysis.checkpoints,
                                                 request.analysis.output)},
                      {"timing", timing}};
  const auto dealt = round_robin(static_cast<int64_t>(items.size()), request.jobs);
  for (size_t job = 0; job < dealt.size(); ++job) {
    Work work;
    Json checkpoints = Json::array();
    std::vector<std::string> names;
    for (const int64_t item : dealt[job]) {
      const Checkpoint& checkpoint = *items[static_cast<size_t>(item)];
      work.title += (work.title.empty() ? "" : " ") + joined_names(checkpoint);
      names.insert(names.end(), checkpoint.names.begin(), checkpoint.names.end());
      checkpoints.push_back(analysis::to_json(checkpoint));
    }
    work.results = output / "jobs" / fmt::format("{:03}-results", job);
    work.command = {program.string()};
    const auto words = analysis_words(request.analysis, names, work.results);
    work.command.insert(work.command.end(), words.begin(), words.end());
    work.wall_seconds = times.wall_seconds[job];
    work.about = {{"checkpoints", checkpoints}};
    submission.work.push_back(std::move(work));
  }
  return submission;
}

class AnalysisJobs {
 public:
  AnalysisJobs(const AnalysisSubmission& request, const std::function<int()>& stop, Log& log)
      : request_(request),
        stop_(stop),
        log_(log),
        record_(std::filesystem::absolute(request.analysis.output) / kSubmissionFile),
        plan_(checked(request)) {
    if (!request_.resume && !std::filesystem::exists(file_status(request.analysis.output))) {
      new_submission(request_, plan_, all());  // refuses before anything is made
    }
  }

  AnalysisSubmissionOutcome run() {
    const Path& output = request_.analysis.output;
    results_.emplace(output, request_.analysis.run, plan_.identity());
    checked(request_);  // another process may have submitted before we locked the directory
    Driver driver(record_, request_.resume ? found() : begun(), log_);
    if (request_.resume) driver.refresh();
    driver.apply(request_.control);
    driver.report_lost();
    check_program(driver.submission(), record_);
    driver.submit_due(stop_);
    AnalysisSubmissionOutcome outcome;
    const WatchEnd end = request_.control.watch ? driver.watch(request_.control.watching, stop_)
                                                : WatchEnd::kStopped;
    log_.finish_progress();
    if (end == WatchEnd::kUnsettled) driver.fail_unsettled(resume_words());
    if (end == WatchEnd::kStopped) {
      log_.info("no longer watching; the jobs keep running, and '{}' continues", resume_words());
    } else {
      combine(driver);
      outcome.combined = true;
    }
    outcome.cases = ResultsDirectory::cases(output);
    outcome.submission = driver.submission();
    return outcome;
  }

 private:
  // Before anything is made.
  static const analysis::AnalysisOptions& checked(const AnalysisSubmission& request) {
    const Path record = request.analysis.output / kSubmissionFile;
    const bool there = std::filesystem::exists(file_status(record));
    if (there && !request.resume) {
      fail(ErrorKind::kConfig,
           "'{}' already contains a submission: continue with --resume, or choose a new --output",
           request.analysis.output.string());
    }
    if (!there && request.resume) {
      fail(ErrorKind::kConfig, "'{}' contains no submission to resume",
           request.analysis.output.string());
    }
    return request.analysis;
  }

  std::vector<const Checkpoint*> all() const {
    std::vector<const Checkpoint*> items;
    for (const Checkpoint& checkpoint : plan_.checkpoints()) items.push_back(&checkpoint);
    return items;
  }

  Submission begun() {
    std::vector<const Checkpoint*> items;
    for (const Checkpoint& checkpoint : plan_.checkpoints()) {
      bool finished = true;
      for (const auto& data : plan_.cases()) {
        finished = results_->has(checkpoint, *data) && finished;
      }
      if (!finished) items.push_back(&checkpoint);
    }
    if (items.empty()) {
      fail(ErrorKind::kConfig, "every checkpoint is already measured in '{}': nothing to submit",
           request_.analysis.output.string());
    }
    return new_submission(request_, plan_, items);
  }

  Submission found() {
    Submission submission = read_submission(record_);
    check_same_source(submission, record_);
    analysis::check_same_identity(
        plan_.identity(), submission.about.value("identity", Json::object()), record_.string());
    return submission;
  }

  // Takes the results of each job only if they are complete.
  void combine(Driver& driver) {
    const auto count = static_cast<int64_t>(driver.submission().work.size());
    for (int64_t index = 0; index < count; ++index) {
      const Work& work = driver.submission().work[static_cast<size_t>(index)];
      std::string missing;
      try {
        ResultsDirectory part(work.results, request_.analysis.run, plan_.identity());
        missing = first_missing(part, work);
        if (missing.empty()) results_->take(part);
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::kIo) throw;
        missing = error.what();
      }
      if (missing.empty()) continue;
      driver.reject(index, "its results are not what was requested: " + missing);
    }
    for (const Work& work : driver.submission().work) {
      if (!work.succeeded()) driver.fail_unsettled(resume_words());
    }
    draw();
  }

  std::string first_missing(ResultsDirectory& part, const Work& work) const {
    for (const Json& wanted : work.about.value("checkpoints", Json::array())) {
      const auto checkpoint =
          std::ranges::find_if(plan_.checkpoints(), [&wanted](const Checkpoint& known) {
            return wanted["weights_sha256"] == known.weights_sha256;
          });
      if (checkpoint == plan_.checkpoints().end()) {
        return fmt::format("the weights of {} have changed since", wanted["names"].dump());
      }
      for (const auto& data : plan_.cases()) {
        if (!part.has(*checkpoint, *data)) {
          return fmt::format("{} on {} is missing", joined_names(*checkpoint),
                             curvature::data_case_name(data->kind()));
        }
      }
    }
    return "";
  }

  void draw() {
    try {
      analysis::draw_figures({.output = request_.analysis.output, .run = request_.analysis.run},
                             log_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kDevice) throw;
      log_.warn("no figures: {}; 'saddle plot-analysis --output {}' draws them elsewhere",
                error.what(), request_.analysis.output.string());
    }
  }

  std::string resume_words() const {
    return fmt::format("saddle submit-analysis --resume --output {}",
                       shell_quoted(request_.analysis.output.string()));
  }

  const AnalysisSubmission& request_;
  const std::function<int()>& stop_;
  Log& log_;
  Path record_;
  AnalysisPlan plan_;
  std::optional<ResultsDirectory> results_;
};

}  // namespace

std::string describe_analysis_submission(const AnalysisSubmission& request) {
  const AnalysisPlan plan(request.analysis);
  std::vector<const Checkpoint*> items;
  for (const Checkpoint& checkpoint : plan.checkpoints()) items.push_back(&checkpoint);
  const Submission submission = new_submission(request, plan, items);
  TextTable table;
  table.add({"work", "time limit", "checkpoints"});
  for (size_t i = 0; i < submission.work.size(); ++i) {
    const Work& work = submission.work[i];
    table.add({std::to_string(i), slurm_time(work.wall_seconds), work.title});
  }
  const PartitionLimit limit = partition_limit(request.control.site);
  const std::string bound = limit.known
                                ? fmt::format("limit of the partition {}: {}", limit.partition,
                                              limit.seconds ? slurm_time(*limit.seconds) : "none")
                                : std::string("limit of the partition: not known here");
  const JobDescription first =
      Driver::description(submission, request.analysis.output / "jobs", {0}, 1);
  return fmt::format("{}{}\ntiming: {}\nscript of work 0:\n\n{}", table.text(), bound,
                     submission.about["timing"].dump(), batch_text(first));
}

AnalysisSubmissionOutcome submit_analysis(const AnalysisSubmission& request,
                                          const std::function<int()>& stop, Log& log) {
  return AnalysisJobs(request, stop, log).run();
}

}  // namespace saddle::cluster
