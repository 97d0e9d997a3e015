#include "submission_options.h"

#include "base/environment.h"
#include "base/error.h"
#include "number_options.h"

namespace saddle::app {
namespace {

constexpr double kMaxWalltimeHours = 99'999;  // the limit of SubmissionControl::wall_seconds()

}  // namespace

cluster::SubmissionControl SubmissionValues::resolved() const {
  cluster::SubmissionControl resolved = control;
  if (walltime_hours != 0) resolved.walltime_hours = walltime_hours;
  resolved.watch = !no_watch;
  resolved.site = cluster::read_site(environment_variable);
  for (const std::string& pair : adopt) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos) {
      fail(ErrorKind::kUsage, "--adopt is '{}': WORK=JOB was expected", pair);
    }
    resolved.adopt.emplace_back(read_number("--adopt " + pair, pair.substr(0, equals), {0}),
                                pair.substr(equals + 1));
  }
  return resolved;
}

void add_submission_options(CLI::App& command, SubmissionValues& values) {
  cluster::WatchOptions& watching = values.control.watching;
  add_number(command, "--walltime-hours", values.walltime_hours,
             config::Real::above_up_to(0, kMaxWalltimeHours), "Time limit of each job")
      ->type_name("H");
  command.add_flag("--no-watch", values.no_watch, "Return once everything is submitted");
  add_number(command, "--poll-seconds", watching.poll_seconds, config::Real::between(0.1, 3600),
             "Time between two queries of Slurm, 0.1 to 3600")
      ->type_name("S")
      ->capture_default_str();
  add_number(command, "--unknown-minutes", watching.unknown_minutes, config::Real::between(0, 1e6),
             "How long to wait for jobs that Slurm does not list")
      ->type_name("M")
      ->capture_default_str();
  command
      .add_option("--adopt", values.adopt,
                  "When continuing a submission: the job of work whose job id was lost; may be "
                  "repeated")
      ->type_name("WORK=JOB")
      ->allow_extra_args(false);
  add_number(command, "--forget", values.control.forget, {0},
             "When continuing a submission: this work, whose job id was lost or whose state is "
             "unknown, has no job; may be repeated")
      ->type_name("WORK")
      ->allow_extra_args(false);
}

}  // namespace saddle::app
