// benchmark-packed, and the worker that it starts as a separate process.
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/exit_codes.h"
#include "base/process.h"
#include "base/stop.h"
#include "bench/packed.h"
#include "commands.h"
#include "config/load.h"
#include "number_options.h"

namespace saddle::app {
namespace {

// Loads settings without checks: the batch and the budget are set later, from the number of
// workers.
config::Settings load_unchecked(const SettingsOptions& options) {
  config::Settings settings;
  for (const std::string& path : options.configs) {
    config::apply_yaml(read_file(path), path, settings);
  }
  for (const std::string& set : options.overrides) config::apply_override(set, settings);
  return settings;
}

struct BenchmarkPackedCommand {
  SettingsOptions settings;
  bench::PackedBenchmarkOptions options;
  std::string output;

  int run() const {
    bench::PackedBenchmarkOptions request = options;
    request.output = output;
    const StopSignals signals;
    Log log;
    const auto summary = bench::run_packed_benchmark(
        load_unchecked(settings), settings.words(), request,
        [&signals] { return signals.requested(); }, log);
    log.finish_progress();
    if (!summary) return kExitStopped;
    print(bench::packed_table(*summary));
    if (std::ranges::all_of((*summary)["rows"],
                            [](const Json& row) { return row.contains("failure"); })) {
      fail(ErrorKind::kDevice, "no candidate could be measured here: see summary.json in '{}'",
           output);
    }
    return kExitSuccess;
  }
};

struct PackedWorkerCommand {
  SettingsOptions settings;
  std::string mode = "packed", trace;
  bench::PackedCandidate candidate;

  int64_t parent = 0;

  int run() const {
    if (parent != 0) end_with_parent(parent);
    bench::PackedCandidate request = candidate;
    request.mode = mode == "packed" ? bench::PackedMode::kPacked : bench::PackedMode::kSequential;
    request.trace = trace;
    print_data(bench::to_json(bench::measure_packed(settings.load(), request)).dump() + "\n");
    return kExitSuccess;
  }
};

void add_updates(CLI::App& command, int64_t& warmup, int64_t& steps) {
  add_number(command, "--warmup", warmup, {0}, "Untimed updates")
      ->type_name("N")
      ->capture_default_str();
  add_number(command, "--steps", steps, {1}, "Timed updates; the median counts")
      ->type_name("N")
      ->capture_default_str();
}

void add_worker(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "benchmark-packed-worker", "Time updates of several workers in this process; prints JSON");
  const auto values = std::make_shared<PackedWorkerCommand>();
  add_settings_options(*command, values->settings);
  command->add_option("--mode", values->mode, "How the workers are run")
      ->type_name("MODE")
      ->check(CLI::IsMember({"packed", "sequential"}))
      ->capture_default_str();
  add_updates(*command, values->candidate.warmup, values->candidate.steps);
  command->add_option("--trace", values->trace, "Write a Chrome trace of the parts to FILE")
      ->type_name("FILE");
  add_parent_option(*command, values->parent);
  command->callback([&action, values] { action = [values] { return values->run(); }; });
}

}  // namespace

void add_benchmark_packed(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "benchmark-packed", "Compare packed with sequential execution of several workers");
  const auto values = std::make_shared<BenchmarkPackedCommand>();
  add_settings_options(*command, values->settings);
  add_number(*command, "--num-models", values->options.num_models, {1, kMaxWorkers},
             "Numbers of workers to try")
      ->type_name("N...")
      ->capture_default_str();
  add_updates(*command, values->options.warmup, values->options.steps);
  add_number(*command, "--time-limit", values->options.time_limit_seconds,
             config::Real::at_least(0), "Seconds after which a candidate counts as failed; 0: none")
      ->type_name("S")
      ->capture_default_str();
  command
      ->add_option("--output", values->output,
                   "Directory for summary.json and traces, created if missing")
      ->type_name("DIRECTORY")
      ->required();
  command->footer(
      "Every candidate runs in a separate process, with training.micro_batch_size sequences of "
      "random ids\nfor each worker and the constant rate optimizer.lr. The batch and the budget "
      "follow from the number\nof workers. The settings are listed by `saddle options` and in "
      "docs/options.md.");
  command->callback([&action, values] { action = [values] { return values->run(); }; });
  add_worker(program, action);
}

}  // namespace saddle::app
