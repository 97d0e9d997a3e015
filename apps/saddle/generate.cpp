#include "train/generate.h"

#include <unistd.h>

#include <memory>

#include "base/exit_codes.h"
#include "base/narrow.h"
#include "base/stop.h"
#include "commands.h"
#include "number_options.h"

namespace saddle::app {
namespace {

std::string rate_text(const train::Generation& result) {
  if (result.tokens == 0 || !(result.seconds > 0)) return "";
  return fmt::format(", {:.1f} tokens/s", static_cast<double>(result.tokens) / result.seconds);
}

struct GenerateCommand {
  SettingsOptions settings;
  std::string checkpoint;
  std::string tokenizer;
  int64_t seed = 0;
  train::GenerateOptions options;

  int run() {
    const StopSignals signals;
    Log log;
    const config::Settings loaded = settings.load_for(checkpoint);
    options.tokenizer =
        tokenizer.empty() ? required(loaded.data.tokenizer, "data.tokenizer") : tokenizer;
    options.seed = narrow<uint64_t>(seed);
    options.stop = [&signals] { return signals.requested(); };
    const bool terminal = ::isatty(STDOUT_FILENO) == 1;
    if (terminal) {
      print_data(options.prompt);
      options.on_text = [](std::string_view text) { print_data(text); };
    }
    const train::Generation result = train::generate(loaded, checkpoint, options);
    print_data(terminal ? "\n" : options.prompt + result.text + "\n");
    log.info("{} tokens after a prompt of {}{}; prompt {:.2f} s{}", result.tokens,
             result.prompt_tokens,
             result.end == train::Generation::End::kDocument ? ", to the end of the document" : "",
             result.prompt_seconds, rate_text(result));
    return result.end == train::Generation::End::kStopped ? kExitStopped : kExitSuccess;
  }
};

}  // namespace

void add_generate(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("generate", "Continue a text with a trained model");
  const auto values = std::make_shared<GenerateCommand>();
  train::GenerateOptions& options = values->options;
  add_settings_options(*command, values->settings);
  command->footer(std::string(kSettingsBeside) + command->get_footer());
  add_checkpoint_option(*command, values->checkpoint);
  command
      ->add_option("--prompt", options.prompt,
                   "The text to continue, as the beginning of a document; may be empty")
      ->type_name("TEXT")
      ->required();
  add_number(*command, "--max-new-tokens", options.max_new_tokens, {0}, "Stop after N new tokens")
      ->type_name("N")
      ->capture_default_str();
  add_number(*command, "--temperature", options.sampling.temperature, config::Real::at_least(0),
             "Divides the logits before sampling; 0: always the most probable token")
      ->type_name("X")
      ->capture_default_str();
  add_number(*command, "--top-k", options.sampling.top_k, {0},
             "Sample from the K most probable tokens; 0: from all")
      ->type_name("K")
      ->capture_default_str();
  add_number(*command, "--top-p", options.sampling.top_p, config::Real::above_up_to(0, 1),
             "Sample from the most probable tokens that together reach this probability")
      ->type_name("P")
      ->capture_default_str();
  add_number(*command, "--seed", values->seed, {0},
             "The same seed, prompt, options and weights give the same text")
      ->type_name("S")
      ->capture_default_str();
  command
      ->add_option("--tokenizer", values->tokenizer,
                   "SentencePiece model; without it, the setting data.tokenizer")
      ->type_name("MODEL");
  command
      ->add_option("--logits", options.logits_file,
                   "Write the tokens of the prompt and the logits after each of them to FILE "
                   "(safetensors)")
      ->type_name("FILE");
  command->callback([&action, values] { action = [values] { return values->run(); }; });
}

}  // namespace saddle::app
