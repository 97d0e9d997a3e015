// sweep: a grid of complete trainings.
#include <memory>

#include "base/error.h"
#include "base/exit_codes.h"
#include "base/stop.h"
#include "bench/sweep_run.h"
#include "cluster/sweep_submission.h"
#include "commands.h"
#include "number_options.h"
#include "submission_options.h"

namespace saddle::app {
namespace {

struct SweepCommand {
  SettingsOptions settings;
  std::vector<std::string> grid;
  std::string output;
  bool slurm = false;
  int64_t at_once = 0;
  SubmissionValues control;

  bench::SweepPlan plan() const {
    std::vector<bench::GridAxis> axes;
    for (const std::string& text : grid) axes.push_back(bench::parse_axis(text));
    return bench::plan_sweep(settings.configs, settings.overrides, axes, output);
  }

  int submit(const std::function<int()>& stop, Log& log) const {
    const auto outcome = cluster::submit_sweep({plan(), at_once, control.resolved()}, stop, log);
    print(cluster::submission_table(outcome.submission));
    print(bench::sweep_table(outcome.summary));
    return outcome.finished || control.no_watch ? kExitSuccess : kExitStopped;
  }

  int run() const {
    const StopSignals signals;
    Log log;
    if (slurm) return submit([&signals] { return signals.requested(); }, log);
    const bench::SweepOutcome outcome = bench::run_sweep(
        plan(), bench::start_training, [&signals] { return signals.requested(); }, log);
    print(bench::sweep_table(outcome.summary));
    if (outcome.stopped || outcome.exit_code == kExitStopped) return kExitStopped;
    if (outcome.exit_code != 0) {
      fail(error_kind(outcome.exit_code), "not every run of the sweep finished: see '{}' and logs/",
           (Path(output) / "summary.json").string());
    }
    return kExitSuccess;
  }
};

}  // namespace

void add_sweep(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("sweep", "Train a grid of settings, or continue such a grid");
  const auto values = std::make_shared<SweepCommand>();
  add_settings_options(*command, values->settings);
  command
      ->add_option("--grid", values->grid,
                   "A setting and its values; repeat it to train every combination")
      ->type_name("KEY=A,B")
      ->required()
      ->allow_extra_args(false);
  command
      ->add_option("--output", values->output,
                   "Directory for the runs and summary.json; an interrupted sweep continues")
      ->type_name("DIR")
      ->required();
  CLI::Option* on_slurm =
      command
          ->add_flag("--slurm", values->slurm,
                     "Train on a Slurm cluster, as one job array, and watch it; the options below "
                     "require it")
          ->group("Slurm");
  CLI::App* slurm = command->add_option_group("Slurm");
  add_number(*slurm, "--at-once", values->at_once, {0},
             "Runs at the same time; 0: as many as Slurm allows")
      ->type_name("N")
      ->capture_default_str();
  add_submission_options(*slurm, values->control);
  for (CLI::Option* option : slurm->get_options(nullptr)) {
    option->needs(on_slurm);
  }
  command->callback([values, &action] { action = [values] { return values->run(); }; });
}

}  // namespace saddle::app
