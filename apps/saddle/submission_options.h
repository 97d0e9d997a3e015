// The options of commands that submit to Slurm.
#pragma once

#include <string>
#include <vector>

#include "cluster/driver.h"
#include "commands.h"

namespace saddle::app {

struct SubmissionValues {
  cluster::SubmissionControl control;
  double walltime_hours = 0;
  std::vector<std::string> adopt;
  bool no_watch = false;

  // Includes the site file. Errors: kUsage, and those of cluster::read_site().
  cluster::SubmissionControl resolved() const;
};

// --walltime-hours, --no-watch, --poll-seconds, --unknown-minutes, --adopt and --forget.
void add_submission_options(CLI::App& command, SubmissionValues& values);

}  // namespace saddle::app
