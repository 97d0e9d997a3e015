#include "train/trainer.h"

#include <memory>

#include "base/exit_codes.h"
#include "base/process.h"
#include "base/stop.h"
#include "commands.h"

namespace saddle::app {
namespace {

struct TrainCommand {
  SettingsOptions settings;
  std::string resume;
  int64_t parent = 0;

  int run() const {
    if (parent != 0) end_with_parent(parent);
    const StopSignals signals(parent);
    Log log;
    train::TrainOptions options;
    options.resume = resume;
    options.stop = [&signals] { return signals.requested(); };
    const train::TrainOutcome outcome = train::run_training(settings.load(), options, log);
    return outcome.completed ? kExitSuccess : kExitStopped;
  }
};

}  // namespace

void add_train(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("train", "Train a model, or continue a run");
  auto options = std::make_shared<TrainCommand>();
  add_settings_options(*command, options->settings);
  command
      ->add_option("--resume", options->resume,
                   "Continue from a state file, or with 'auto' from the newest state in "
                   "runtime.output_dir; 'auto' starts a new run if there is none")
      ->type_name("FILE|auto");
  add_parent_option(*command, options->parent);
  command->callback([options, &action] { action = [options] { return options->run(); }; });
}

}  // namespace saddle::app
