// benchmark-worker: measures training updates in this process.
#include <memory>

#include "base/exit_codes.h"
#include "base/process.h"
#include "base/stop.h"
#include "bench/worker.h"
#include "commands.h"
#include "number_options.h"

namespace saddle::app {
namespace {

struct WorkerCommand {
  SettingsOptions settings;
  bench::WorkerOptions options;
  std::string data_mode = "real", output;
  int64_t parent = 0;

  int run() const {
    if (parent != 0) end_with_parent(parent);
    bench::WorkerOptions request = options;
    request.data_mode = data_mode == "real" ? bench::DataMode::kReal : bench::DataMode::kSynthetic;
    request.output = output;
    request.telemetry = parent == 0;  // a parent has one telemetry for all its workers
    const StopSignals signals;
    Log log;
    const auto record = bench::measure_worker(
        settings.load(), request, [&signals] { return signals.requested(); }, log);
    if (!record) return kExitStopped;
    print(bench::worker_text(*record));
    return kExitSuccess;
  }
};

}  // namespace

void add_benchmark_worker(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "benchmark-worker", "Measure the rate of training updates, and where their time goes");
  const auto values = std::make_shared<WorkerCommand>();
  add_settings_options(*command, values->settings);
  command
      ->add_option("--data-mode", values->data_mode,
                   "Tokens of data.cache as training reads them, or random ids")
      ->type_name("MODE")
      ->check(CLI::IsMember({"real", "synthetic"}))
      ->capture_default_str();
  add_number(*command, "--warmup", values->options.warmup, {0},
             "Untimed updates; with 0, the first, slower update is timed")
      ->type_name("N")
      ->capture_default_str();
  add_number(*command, "--steps", values->options.steps, {1}, "Updates in each timed window")
      ->type_name("N")
      ->capture_default_str();
  add_number(*command, "--windows", values->options.windows, {1, kMaxSamples},
             "Timed windows; the median counts")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--profile", values->options.profile,
                    "Then profile a few updates: add a table of operations to the record, and "
                    "write a Chrome trace next to it");
  command->add_option("--output", values->output, "The record (.json)")
      ->type_name("FILE")
      ->required();
  add_parent_option(*command, values->parent);
  command->callback([&action, values] { action = [values] { return values->run(); }; });
}

}  // namespace saddle::app
