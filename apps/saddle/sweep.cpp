// sweep: a grid of complete trainings.
#include <memory>

#include "base/exit_codes.h"
#include "base/stop.h"
#include "bench/sweep_run.h"
#include "commands.h"

namespace saddle::app {
namespace {

struct SweepCommand {
  SettingsOptions settings;
  std::vector<std::string> grid;
  std::string output;

  bench::SweepPlan plan() const {
    std::vector<bench::GridAxis> axes;
    for (const std::string& text : grid) axes.push_back(bench::parse_axis(text));
    return bench::plan_sweep(settings.configs, settings.overrides, axes, output);
  }

  int run() const {
    const StopSignals signals;
    Log log;
    const bench::SweepOutcome outcome = bench::run_sweep(
        plan(), bench::start_training, [&signals] { return signals.requested(); }, log);
    print(bench::sweep_table(outcome.summary));
    return outcome.stopped ? kExitStopped : outcome.exit_code;
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
                   "A setting and the values that it takes; may be repeated for every combination")
      ->type_name("KEY=A,B")
      ->required()
      ->allow_extra_args(false);
  command
      ->add_option("--output", values->output,
                   "Directory of the runs and of summary.json; an interrupted sweep continues")
      ->type_name("DIR")
      ->required();
  command->callback([values, &action] { action = [values] { return values->run(); }; });
}

}  // namespace saddle::app
