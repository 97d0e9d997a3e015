// The commands of the program, one file each. A command only turns its options into plain structs
// and calls the library.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "config/settings.h"

namespace saddle::app {

// What to do once the command line has been read; returns the exit code.
using Action = std::function<int()>;

// Each adds its command to the program. If that command is given, it is assigned to `action`.
void add_prepare(CLI::App& program, Action& action);
void add_train(CLI::App& program, Action& action);
void add_evaluate(CLI::App& program, Action& action);
void add_generate(CLI::App& program, Action& action);
void add_export(CLI::App& program, Action& action);
void add_import(CLI::App& program, Action& action);
void add_compare_runs(CLI::App& program, Action& action);
void add_report(CLI::App& program, Action& action);
void add_analyze(CLI::App& program, Action& action);
void add_plot_analysis(CLI::App& program, Action& action);
void add_compare_precision(CLI::App& program, Action& action);
void add_tokenizer(CLI::App& program, Action& action);
void add_options(CLI::App& program, Action& action);
void add_benchmark(CLI::App& program, Action& action);
void add_benchmark_hvp(CLI::App& program, Action& action);
void add_benchmark_packed(CLI::App& program, Action& action);
void add_benchmark_worker(CLI::App& program, Action& action);
void add_sweep(CLI::App& program, Action& action);
void add_submit_analysis(CLI::App& program, Action& action);
void add_jobs(CLI::App& program, Action& action);
void add_version(CLI::App& program, Action& action);
void add_manual(CLI::App& program, Action& action);
void add_completion(CLI::App& program, Action& action);

// Options shared by the studies of curvature: directions to draw, and execution of the passes.
void add_sample_options(CLI::App& command, std::string& noise_samples, int64_t& random_samples,
                        int64_t& seed);
void add_pass_options(CLI::App& command, int64_t& hvp_batch_size, double& memory_gib,
                      int64_t& threads);
// Returns --noise-samples as a number; nothing for "all". Errors: kUsage for anything else.
std::optional<int64_t> parse_noise_samples(const std::string& text);

// --config and --set, which every command that needs settings has.
struct SettingsOptions {
  std::vector<std::string> configs;
  std::vector<std::string> overrides;

  // Errors: those of config::load_settings.
  config::Settings load() const;
  // The same options as words of a command line, for another process.
  std::vector<std::string> words() const;
  // As load(); but without any --config, reads resolved.yaml next to `checkpoint` (for the weights
  // of one of several workers: in the directory above) if it exists.
  config::Settings load_for(const Path& checkpoint) const;
};
// The sentence about load_for() in the help of a command.
inline constexpr std::string_view kSettingsBeside =
    "Without --config, the settings are those of resolved.yaml next to the checkpoint.\n";
void add_settings_options(CLI::App& command, SettingsOptions& options);

// Adds --checkpoint, for every command that reads weights.
void add_checkpoint_option(CLI::App& command, std::string& checkpoint);

// Adds --parent, for commands that other commands start; the value is for end_with_parent().
void add_parent_option(CLI::App& command, int64_t& parent);

// Returns the value of a setting that a command needs and that has no default. Error: kConfig with
// its key if it was not given.
const std::string& required(const std::optional<std::string>& value, std::string_view key);

// Writes lines for people to standard output, through printable_lines(). Error: kIo if that fails
// (a full disk, a closed pipe).
void print(std::string_view text);

// The same for output that is written unchanged: JSON, and requested text.
void print_data(std::string_view text);

}  // namespace saddle::app
