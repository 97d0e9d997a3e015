// jobs: what is known of a submission to Slurm.
#include <memory>

#include "cluster/driver.h"
#include "commands.h"

namespace saddle::app {

void add_jobs(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("jobs", "Show what is known of the jobs of a submission to Slurm");
  const auto output = std::make_shared<std::string>();
  command->add_option("--output", *output, "Directory of submit-analysis, or of sweep --slurm")
      ->type_name("DIRECTORY")
      ->required();
  command->footer(
      "Asks squeue and sacct for jobs that had not ended when they were last seen, and changes\n"
      "nothing.");
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
