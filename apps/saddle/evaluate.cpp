#include <memory>

#include "base/exit_codes.h"
#include "base/output_file.h"
#include "base/stop.h"
#include "commands.h"
#include "train/evaluate_checkpoint.h"

namespace saddle::app {
namespace {

std::string text_of(const train::CheckpointEvaluation& evaluation) {
  const train::EvaluationResult& result = evaluation.result;
  std::string text = fmt::format(
      "loss        {:.6f} nats per token\nperplexity  {:.4f}\ntargets     {} ({})\n"
      "seconds     {:.2f}\n",
      result.loss, result.perplexity, result.targets,
      evaluation.full ? "the whole validation split" : "the fixed subset", result.seconds);
  if (evaluation.unigram_loss) {
    text += fmt::format("unigram     {:.6f} nats per token\n", *evaluation.unigram_loss);
  }
  return text +
         fmt::format("validation  {}\n", result.validation_complete
                                             ? "complete"
                                             : "incomplete: the cache contains only a part of it");
}

struct EvaluateCommand {
  SettingsOptions settings;
  std::string checkpoint;
  bool full = false;
  bool json = false;
  std::string json_file;  // empty: standard output

  int run() const {
    if (!json_file.empty()) check_output_file(json_file);
    const StopSignals signals;
    Log log;
    const auto stop = [&signals] { return signals.requested(); };
    const auto evaluation =
        train::evaluate_checkpoint(settings.load(), checkpoint, full, stop, log);
    log.finish_progress();
    if (!evaluation) return kExitStopped;
    const Json record = train::to_json(*evaluation, checkpoint);
    if (!json_file.empty()) write_json(json_file, record);
    if (json && json_file.empty()) {
      print_data(json_text(record, 2) + "\n");
    } else {
      print(text_of(*evaluation));
    }
    return kExitSuccess;
  }
};

}  // namespace

void add_evaluate(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "evaluate", "Evaluate a weight or state file on the validation split of the token cache");
  auto options = std::make_shared<EvaluateCommand>();
  add_settings_options(*command, options->settings);
  add_checkpoint_option(*command, options->checkpoint);
  command->add_flag("--full", options->full,
                    "Use the whole validation split instead of the fixed subset, and add the loss "
                    "of the unigram distribution of the training tokens");
  CLI::Option* json =
      command
          ->add_option("--json", options->json_file,
                       "Also write the result to FILE as JSON; without FILE, print JSON")
          ->type_name("[FILE]")
          ->expected(0, 1);
  command->callback([options, json, &action] {
    options->json = json->count() > 0;
    action = [options] { return options->run(); };
  });
}

}  // namespace saddle::app
