#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/system_error.h"
#include "base/text.h"
#include "commands.h"
#include "config/load.h"
#include "number_options.h"
#include "train/run_settings.h"

namespace saddle::app {
namespace {

constexpr int64_t kMaxProcess = 4194304;  // of 64-bit Linux

}  // namespace

config::Settings SettingsOptions::load() const {
  return config::load_settings({configs.begin(), configs.end()}, overrides);
}

std::vector<std::string> SettingsOptions::words() const {
  std::vector<std::string> words;
  for (const std::string& config : configs) words.insert(words.end(), {"--config", config});
  for (const std::string& set : overrides) words.insert(words.end(), {"--set", set});
  return words;
}

config::Settings SettingsOptions::load_for(const Path& checkpoint) const {
  Path run = checkpoint.parent_path();
  if (run.filename().string().starts_with("node-")) run = run.parent_path();  // one of the workers
  const Path beside = run / "resolved.yaml";
  if (configs.empty() && std::filesystem::exists(file_status(beside))) {
    config::Settings settings = train::run_settings(run);
    for (const std::string& set : overrides) config::apply_override(set, settings);
    config::check_settings(settings);
    return settings;
  }
  return load();
}

void add_settings_options(CLI::App& command, SettingsOptions& options) {
  command
      .add_option("--config", options.configs,
                  "YAML file with settings; may be repeated: later files override single settings")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      .add_option("--set", options.overrides,
                  "One setting, applied after all files; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.footer("The settings are listed by `saddle options` and in docs/options.md.");
}

void add_checkpoint_option(CLI::App& command, std::string& checkpoint) {
  command
      .add_option("--checkpoint", checkpoint,
                  "Weights or state (.safetensors) of the model that the settings describe")
      ->type_name("FILE")
      ->required();
}

void add_parent_option(CLI::App& command, int64_t& parent) {
  add_number(command, "--parent", parent, {0, kMaxProcess},
             "Process id: this process ends when that one does; 0: none")
      ->type_name("PID");
}

const std::string& required(const std::optional<std::string>& value, std::string_view key) {
  if (!value) {
    fail(ErrorKind::kConfig, "{} is not given, and this command needs it: use --set {}=...", key,
         key);
  }
  return *value;
}

void add_sample_options(CLI::App& command, std::string& noise_samples, int64_t& random_samples,
                        int64_t& seed) {
  command
      .add_option(
          "--noise-samples", noise_samples,
          "Optimizer batches whose gradient noise is a direction; at most the existing ones")
      ->type_name("N|all")
      ->capture_default_str();
  add_number(command, "--random-samples", random_samples, {0, kMaxSamples},
             "Directions of independent random signs")
      ->type_name("N")
      ->capture_default_str();
  add_number(command, "--seed", seed, {0}, "Seed of samples and random directions")
      ->type_name("S")
      ->capture_default_str();
}

void add_pass_options(CLI::App& command, int64_t& hvp_batch_size, double& memory_gib,
                      int64_t& threads) {
  add_number(command, "--hvp-batch-size", hvp_batch_size, {0, kMaxSequences},
             "Sequences of a curvature microbatch; 0: as many as in a training microbatch")
      ->type_name("B")
      ->capture_default_str();
  add_number(command, "--memory-gib", memory_gib, config::Real::above_up_to(0, kMaxMemoryGib),
             "Memory for the directions that are processed together")
      ->type_name("G")
      ->capture_default_str();
  add_number(command, "--threads", threads, {0, kMaxThreads},
             "Threads; 0: one for every core of this process")
      ->type_name("N")
      ->capture_default_str();
}

std::optional<int64_t> parse_noise_samples(const std::string& text) {
  if (text == "all") return std::nullopt;
  return read_number("--noise-samples, unless it is 'all'", text, {0});
}

void print_data(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    fail(ErrorKind::kIo, "cannot write to standard output: {}", system_error_text(errno));
  }
}

void print(std::string_view text) {
  print_data(printable_lines(text));
}

}  // namespace saddle::app
