// benchmark: measures the speed of training under different execution settings.
#include "bench/benchmark.h"

#include <memory>

#include "base/error.h"
#include "base/exit_codes.h"
#include "base/stop.h"
#include "commands.h"
#include "number_options.h"

namespace saddle::app {
namespace {

struct BenchmarkCommand {
  SettingsOptions settings;
  bench::CampaignOptions campaign;
  bench::BenchmarkOptions options;
  std::string output;
  double memory_gib = 0, budget_minutes = options.budget_seconds / 60;
  bool tune = false, gh200 = false, budget_given = false;

  int run() const {
    if (gh200) bench::require_gh200(bench::computing_device());
    const bool tuning = tune || gh200;
    if (budget_given && !tuning) {
      fail(ErrorKind::kUsage, "--budget-minutes is an option of the tuner: use it with --tune");
    }
    if (tuning && campaign.protocol.data_mode == "synthetic") {
      fail(ErrorKind::kUsage,
           "--tune measures with the training data: leave out --data-mode synthetic");
    }
    bench::CampaignOptions request = campaign;
    request.output = output;
    if (memory_gib != 0) request.memory_gib = memory_gib;
    bench::BenchmarkOptions benchmark = options;
    benchmark.budget_seconds = 60 * budget_minutes;
    const config::Settings given = settings.load();
    bench::check_protocol(request.protocol);
    const StopSignals signals;
    Log log;
    bench::CampaignTools tools;
    tools.stop = [&signals] { return signals.requested(); };
    bench::Campaign work(tuning ? "tune" : "grid", given, request,
                         bench::present_conditions(given, request.protocol), tools, log);
    const bench::BenchmarkOutcome outcome =
        tuning ? bench::run_tuner(given, benchmark, work) : bench::run_grid(given, benchmark, work);
    log.finish_progress();
    print(bench::campaign_table(outcome.summary));
    if (outcome.stopped) {
      log.info("signal {}: stopped; the same command continues", signals.requested());
      return kExitStopped;
    }
    if (outcome.summary["selected"].is_null()) {
      fail(ErrorKind::kDevice, "no candidate could be measured here: see summary.json in '{}'",
           output);
    }
    return kExitSuccess;
  }
};

void add_protocol(CLI::App& command, bench::Protocol& protocol) {
  command
      .add_option("--data-mode", protocol.data_mode,
                  "real: batches of data.cache, loaded as in training; synthetic: random ids")
      ->type_name("real|synthetic")
      ->check(CLI::IsMember({"real", "synthetic"}))
      ->capture_default_str();
  add_number(command, "--warmup", protocol.warmup, {0},
             "Untimed updates; with 0, the first, slower update is timed")
      ->type_name("N")
      ->capture_default_str();
  add_number(command, "--steps", protocol.steps, {1}, "Updates in each window")
      ->type_name("N")
      ->capture_default_str();
  add_number(command, "--windows", protocol.windows, {1, kMaxSamples},
             "Timed windows; the median counts")
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace

void add_benchmark(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "benchmark", "Find the execution settings under which training is fastest");
  const auto values = std::make_shared<BenchmarkCommand>();
  add_settings_options(*command, values->settings);
  command
      ->add_option("--output", values->output,
                   "Directory for summary.json and selected.yaml; its measurements are reused")
      ->type_name("DIR")
      ->required();
  add_protocol(*command, values->campaign.protocol);
  add_number(*command, "--micro-batch-sizes", values->options.micro_batch_sizes, {1, kMaxSequences},
             "Sizes of a microbatch to try, in sequences")
      ->type_name("B")
      ->capture_default_str();
  add_number(*command, "--time-limit", values->campaign.time_limit_seconds,
             config::Real::at_least(0), "Seconds after which a candidate is killed; 0: none")
      ->type_name("S")
      ->capture_default_str();
  add_number(*command, "--memory-gib", values->memory_gib, config::Real::between(0, kMaxMemoryGib),
             "Memory of the device, of which a candidate may use 90%; 0: all of it")
      ->type_name("G")
      ->capture_default_str();
  command->add_flag("--tune", values->tune, "Tune in stages within a budget, instead of the grid");
  command->add_flag("--gh200", values->gh200, "As --tune, on an NVIDIA GH200; refused elsewhere");
  const CLI::Option* budget =
      add_number(*command, "--budget-minutes", values->budget_minutes, config::Real::above(0),
                 "For --tune: time limit; no candidate starts that would end after it")
          ->type_name("M")
          ->capture_default_str();
  command->callback([values, budget, &action] {
    values->budget_given = budget->count() > 0;
    action = [values] { return values->run(); };
  });
}

}  // namespace saddle::app
