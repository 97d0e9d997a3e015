// submit-analysis: divides an analysis among the jobs of a Slurm cluster.
#include <algorithm>
#include <memory>

#include "analysis/results_summary.h"
#include "analyze_command.h"
#include "base/exit_codes.h"
#include "base/stop.h"
#include "base/text.h"
#include "cluster/analysis_submission.h"
#include "commands.h"
#include "number_options.h"
#include "submission_options.h"

namespace saddle::app {
namespace {

// Returns the options with which a submission was started, from the words in its record.
analysis::AnalysisOptions recorded_options(const Path& output) {
  const Path file = output / cluster::kSubmissionFile;
  const cluster::Submission submission = cluster::read_submission(file);
  AnalyzeValues values;
  CLI::App parser;
  add_analysis_options(parser, values);
  try {
    auto words = submission.about.at("analyze").get<std::vector<std::string>>();
    if (words.empty())
      fail(ErrorKind::kData, "{}: the words of analyze are missing", file.string());
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
  SubmissionValues control;
  std::string profile;
  bool dry_run = false;
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
    if (!profile.empty()) submission.profile = profile;
    submission.control = control.resolved();
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
    if (!outcome.combined) return control.no_watch ? kExitSuccess : kExitStopped;
    print(fmt::format("{}{}\n", analysis::summary_text(outcome.cases),
                      printable((submission.analysis.output / "summary.csv").string())));
    return kExitSuccess;
  }
};

void add_division(CLI::App& command, SubmitAnalysisCommand& values) {
  cluster::AnalysisSubmission& request = values.request;
  add_number(command, "--jobs", request.jobs, {1}, "Jobs among which the checkpoints are divided")
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option(
          "--profile", values.profile,
          "Without --walltime-hours: a finished analysis, from whose recorded times the time of a "
          "job is estimated")
      ->type_name("DIRECTORY");
  command.add_flag("--dry-run", values.dry_run,
                   "Print assignments, times and the first script, and submit nothing");
  command.add_flag("--resume", request.resume,
                   "Continue the submission in --output: watch it, submit failed work again, "
                   "combine the results");
  add_submission_options(command, values.control);
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
  add_division(*command, *values);
  command->footer(
      "Account, partition and resources come from sbatch's environment and from the site file\n"
      "(docs/guides/slurm.md). Stopping this command leaves the jobs running; --resume with only\n"
      "--output continues.");
  command->callback([&action, values, of_analysis] {
    for (const CLI::Option* option : of_analysis) {
      values->other_options = values->other_options || option->count() > 0;
    }
    action = [values] { return values->run(); };
  });
}

}  // namespace saddle::app
