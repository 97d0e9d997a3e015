#include "submission_options.h"

#include "base/environment.h"
#include "base/error.h"

namespace saddle::app {

cluster::SubmissionControl SubmissionValues::resolved() const {
  cluster::SubmissionControl resolved = control;
  if (walltime_hours != 0) resolved.walltime_hours = walltime_hours;
  resolved.watch = !no_watch;
  resolved.site = cluster::read_site(environment_variable);
  for (const std::string& pair : adopt) {
    const size_t equals = pair.find('=');
    int64_t index = 0;
    if (equals == std::string::npos || !CLI::detail::lexical_cast(pair.substr(0, equals), index)) {
      fail(ErrorKind::kUsage, "--adopt is '{}': WORK=JOB was expected", pair);
    }
    resolved.adopt.emplace_back(index, pair.substr(equals + 1));
  }
  return resolved;
}

void add_submission_options(CLI::App& command, SubmissionValues& values) {
  cluster::WatchOptions& watching = values.control.watching;
  command.add_option("--walltime-hours", values.walltime_hours, "Time limit of each job")
      ->type_name("H");
  command.add_flag("--no-watch", values.no_watch, "Return when everything is submitted");
  command.add_option("--poll-seconds", watching.poll_seconds, "Time between two looks at Slurm")
      ->type_name("S")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command
      .add_option("--unknown-minutes", watching.unknown_minutes,
                  "How long to wait for jobs of which Slurm says nothing")
      ->type_name("M")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command
      .add_option("--adopt", values.adopt,
                  "Of a submission that goes on: the job of work whose job id was lost; may be "
                  "repeated")
      ->type_name("WORK=JOB")
      ->allow_extra_args(false);
  command
      .add_option("--forget", values.control.forget,
                  "Of a submission that goes on: there is no job of this work, whose job id was "
                  "lost or whose state is unknown; may be repeated")
      ->type_name("WORK")
      ->allow_extra_args(false);
}

}  // namespace saddle::app
