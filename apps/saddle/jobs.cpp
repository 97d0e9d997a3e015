// jobs: shows the state of a submission to Slurm.
#include <memory>

#include "cluster/driver.h"
#include "commands.h"

namespace saddle::app {

void add_jobs(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("jobs", "Show the state of the jobs of a submission to Slurm");
  const auto output = std::make_shared<std::string>();
  command
      ->add_option("--output", *output, "Directory of results of submit-analysis or sweep --slurm")
      ->type_name("DIRECTORY")
      ->required();
  command->footer(
      "Asks squeue and sacct about jobs that were not known to have ended, and changes nothing.");
  command->callback([&action, output] {
    action = [output] {
      Log log = Log::silent();
      cluster::Submission submission =
          cluster::read_submission(Path(*output) / cluster::kSubmissionFile);
      cluster::refresh(submission, log);
      print(cluster::submission_table(submission));
      return 0;
    };
  });
}

}  // namespace saddle::app
