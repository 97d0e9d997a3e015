// export and import: weights for and from other programs.
#include <memory>
#include <optional>

#include "base/exit_codes.h"
#include "base/text.h"
#include "commands.h"
#include "model/weights_import.h"
#include "train/export_weights.h"

namespace saddle::app {
namespace {

struct ExportCommand {
  SettingsOptions settings;
  std::string checkpoint, output, tokenizer;
  std::string format = "hugging-face";

  int run() const {
    const config::Settings loaded = settings.load_for(checkpoint);
    std::optional<Path> model_file;
    if (!tokenizer.empty()) {
      model_file = tokenizer;
    } else if (loaded.data.tokenizer) {
      model_file = *loaded.data.tokenizer;
    }
    const bool folder = format == "hugging-face";
    const train::ExportedWeights written = train::export_weights(
        loaded, checkpoint, output,
        folder ? train::ExportFormat::kHuggingFace : train::ExportFormat::kSafetensors, model_file);
    print(fmt::format("{}: {} parameters{}\n", printable(output), written.parameters,
                      folder && !model_file
                          ? ", without a tokenizer (none was given): bos and eos are null"
                          : ""));
    if (written.without_tokenizer_json) {
      print(fmt::format("no tokenizer.json: {} cannot be written as one ({})\n",
                        printable(model_file->string()), *written.without_tokenizer_json));
    }
    return kExitSuccess;
  }
};

struct ImportCommand {
  std::string input, output, config_output;

  int run() const {
    std::optional<Path> settings_file;
    if (!config_output.empty()) settings_file = config_output;
    const model::ImportedWeights found = model::import_weights(input, output, settings_file);
    print(fmt::format("{}: {} parameters in {} tensors, from {}\n", printable(output),
                      found.parameters, found.tensors, fmt::join(found.dtypes, ", ")));
    if (settings_file) {
      print(fmt::format("{}: the settings of the model\n", printable(config_output)));
    }
    return kExitSuccess;
  }
};

}  // namespace

void add_export(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "export", "Write the weights of a checkpoint for Hugging Face's Transformers");
  const auto values = std::make_shared<ExportCommand>();
  add_settings_options(*command, values->settings);
  command->footer(std::string(kSettingsBeside) + command->get_footer());
  add_checkpoint_option(*command, values->checkpoint);
  command
      ->add_option("--output", values->output,
                   "The folder to create (hugging-face), or the file (safetensors)")
      ->type_name("PATH")
      ->required();
  command
      ->add_option("--format", values->format,
                   "hugging-face: config.json, model.safetensors and the tokenizer's files; "
                   "safetensors: one file of weights under saddle's own names")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"hugging-face", "safetensors"}))
      ->capture_default_str();
  command
      ->add_option("--tokenizer", values->tokenizer,
                   "SentencePiece model for the folder; without it, the setting data.tokenizer")
      ->type_name("MODEL");
  command->callback([&action, values] { action = [values] { return values->run(); }; });
}

void add_import(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "import", "Make a weight file from a Hugging Face Llama folder or a safetensors file");
  const auto values = std::make_shared<ImportCommand>();
  command
      ->add_option("--input", values->input,
                   "The folder (config.json and safetensors files), or one safetensors file")
      ->type_name("PATH")
      ->required();
  command->add_option("--output", values->output, "The weight file to write")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--config-output", values->config_output,
                   "Also write the settings of the model, for --config of the other commands")
      ->type_name("FILE");
  command->callback([&action, values] { action = [values] { return values->run(); }; });
}

}  // namespace saddle::app
