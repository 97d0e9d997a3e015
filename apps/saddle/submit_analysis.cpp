// submit-analysis: an analysis divided among the jobs of a Slurm cluster.
#include <memory>

#include "analyze_command.h"
#include "base/environment.h"
#include "base/exit_codes.h"
#include "base/stop.h"
#include "cluster/analysis_submission.h"
#include "commands.h"
#include "curvature/results_summary.h"

namespace saddle::app {
namespace {

// The options that a submission was begun with, from the words in its record.
curvature::AnalysisOptions recorded_options(const Path& output) {
  const Path file = output / cluster::kSubmissionFile;
  const cluster::Submission submission = cluster::read_submission(file);
  AnalyzeValues values;
  CLI::App parser;
  add_analysis_options(parser, values);
  try {
    auto words = submission.about.at("analyze").get<std::vector<std::string>>();
    if (words.empty()) fail(ErrorKind::kData, "{}: no words of analyze", file.string());
    words.erase(words.begin());  // the command itself
    std::ranges::reverse(words);
    parser.parse(words);
  } catch (const Json::exception&) {
    fail(ErrorKind::kConfig, "'{}' is not the submission of an analysis", file.string());
  } catch (const CLI::ParseError& error) {
    fail(ErrorKind::kData, "{}: the words of analyze are damaged: {}", file.string(), error.what());
  }
  return values.resolved();
}

struct SubmitAnalysisCommand {
  AnalyzeValues analysis;
  cluster::AnalysisSubmission request;
  double walltime_hours = 0;
  std::string profile;
  std::vector<std::string> adopt;
  bool dry_run = false, no_watch = false;
  bool other_options = false;  // of the analysis, given with --resume

  cluster::AnalysisSubmission resolved() const {
    cluster::AnalysisSubmission submission = request;
    if (request.resume && !other_options) {
      submission.analysis = recorded_options(analysis.output);
      submission.analysis.output = analysis.output;
    } else {
      if (analysis.run_directory.empty()) fail(ErrorKind::kUsage, "--run is required");
      submission.analysis = analysis.resolved();
    }
    if (walltime_hours != 0) submission.walltime_hours = walltime_hours;
    if (!profile.empty()) submission.profile = profile;
    submission.watch = !no_watch;
    submission.site = cluster::read_site(environment_variable);
    for (const std::string& pair : adopt) {
      const size_t equals = pair.find('=');
      int64_t index = 0;
      if (equals == std::string::npos ||
          !CLI::detail::lexical_cast(pair.substr(0, equals), index)) {
        fail(ErrorKind::kUsage, "--adopt is '{}': WORK=JOB was expected", pair);
      }
      submission.adopt.emplace_back(index, pair.substr(equals + 1));
    }
    return submission;
  }

  int run() const {
    const cluster::AnalysisSubmission submission = resolved();
    if (dry_run) {
      print(cluster::describe_analysis_submission(submission));
      return kExitSuccess;
    }
    const StopSignals signals;
    Log log;
    const auto outcome = cluster::submit_analysis(
        submission, [&signals] { return signals.requested(); }, log);
    log.finish_progress();
    print(cluster::submission_table(outcome.submission));
    if (!outcome.combined) return no_watch ? kExitSuccess : kExitStopped;
    print(fmt::format("{}{}\n", curvature::summary_text(outcome.cases),
                      (submission.analysis.output / "summary.csv").string()));
    return kExitSuccess;
  }
};

void add_submission_options(CLI::App& command, SubmitAnalysisCommand& values) {
  cluster::AnalysisSubmission& request = values.request;
  command.add_option("--jobs", request.jobs, "Jobs among which the checkpoints are dealt out")
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--walltime-hours", values.walltime_hours,
                  "Time limit of each job; by default from --profile")
      ->type_name("H");
  command
      .add_option("--profile", values.profile,
                  "A finished analysis whose recorded times tell how long a job takes")
      ->type_name("DIRECTORY");
  command.add_flag("--dry-run", values.dry_run,
                   "Print assignments, times and the first script, and submit nothing");
  command.add_flag("--resume", request.resume,
                   "Go on with the submission in --output: watch, submit again what ended in "
                   "failure, combine");
  command.add_flag("--no-watch", values.no_watch, "Return when everything is submitted");
  command
      .add_option("--poll-seconds", request.watching.poll_seconds,
                  "Time between two looks at Slurm")
      ->type_name("S")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command
      .add_option("--unknown-minutes", request.watching.unknown_minutes,
                  "How long to wait for jobs of which Slurm says nothing")
      ->type_name("M")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command
      .add_option("--adopt", values.adopt,
                  "With --resume: the job of work whose job id was lost; may be repeated")
      ->type_name("WORK=JOB")
      ->allow_extra_args(false);
  command
      .add_option("--forget", request.forget,
                  "With --resume: work whose job id was lost became no job; may be repeated")
      ->type_name("WORK")
      ->allow_extra_args(false);
}

}  // namespace

void add_submit_analysis(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "submit-analysis",
      "Divide an analysis among jobs of a Slurm cluster, and combine the results");
  const auto values = std::make_shared<SubmitAnalysisCommand>();
  add_analysis_options(*command, values->analysis);
  command->get_option("--run")->required(false);
  const std::vector<CLI::Option*> analysis = command->get_options(nullptr);
  std::vector<const CLI::Option*> of_analysis;
  for (const CLI::Option* option : analysis) {
    if (option->get_name() != "--help" && option->get_name() != "--output") {
      of_analysis.push_back(option);
    }
  }
  add_submission_options(*command, *values);
  command->footer(
      "Account, partition and resources are those of sbatch's environment and of the site file\n"
      "(docs/guides/slurm.md). Stopping this command leaves the jobs running; --resume with "
      "--output\n"
      "alone goes on.");
  command->callback([&action, values, of_analysis] {
    for (const CLI::Option* option : of_analysis) {
      values->other_options = values->other_options || option->count() > 0;
    }
    action = [values] { return values->run(); };
  });
}

}  // namespace saddle::app
