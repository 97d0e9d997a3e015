// benchmark-hvp, and the candidate that it starts as a separate process.
#include "bench/benchmark_hvp.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/exit_codes.h"
#include "base/process.h"
#include "base/stop.h"
#include "base/telemetry.h"
#include "commands.h"
#include "number_options.h"

namespace saddle::app {
namespace {

void add_checkpoint(CLI::App& command, std::string& checkpoint) {
  command.add_option("--checkpoint", checkpoint, "A weight file; without it, the initial weights")
      ->type_name("FILE");
}

struct BenchmarkHvpCommand {
  SettingsOptions settings;
  std::vector<std::string> methods = {"adjoint-weighted", "forward-forward", "forward-reverse",
                                      "double-backward"};
  bench::HvpBenchmarkOptions options;
  std::string checkpoint, output;
  bool no_reference = false;

  int run() const {
    bench::HvpBenchmarkOptions request = options;
    for (const std::string& name : methods) {
      request.methods.push_back(curvature::parse_method(name));
    }
    request.checkpoint = checkpoint;
    request.output = output;
    request.reference = !no_reference;
    if (!output.empty()) std::filesystem::create_directories(output);
    const StopSignals signals;
    Log log;
    std::optional<Telemetry> telemetry;
    if (!output.empty()) telemetry.emplace(request.output / "telemetry.csv", log);
    const auto table = bench::run_hvp_benchmark(
        settings.load(), settings.words(), request, [&signals] { return signals.requested(); },
        log);
    log.finish_progress();
    if (!table) return kExitStopped;
    print(bench::hvp_table(*table, request.directions));
    if (std::ranges::none_of(
            table->rows, [](const bench::HvpRow& row) { return row.measurement.has_value(); })) {
      fail(ErrorKind::kDevice, "no candidate could be measured here: the table says why");
    }
    return kExitSuccess;
  }
};

struct CandidateCommand {
  SettingsOptions settings;
  std::string method = "adjoint-weighted", checkpoint;
  bench::HvpCandidate candidate;

  int64_t parent = 0;

  int run() const {
    if (parent != 0) end_with_parent(parent);
    bench::HvpCandidate request = candidate;
    request.method = curvature::parse_method(method);
    request.checkpoint = checkpoint;
    print_data(bench::to_json(bench::measure_hvp(settings.load(), request)).dump() + "\n");
    return kExitSuccess;
  }
};

void add_candidate(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "benchmark-hvp-candidate", "Time one way of computing v'Hv in this process; prints JSON");
  const auto values = std::make_shared<CandidateCommand>();
  add_settings_options(*command, values->settings);
  command->add_option("--method", values->method, "How v'Hv is computed")
      ->type_name("METHOD")
      ->capture_default_str();
  add_number(*command, "--batch-size", values->candidate.batch_size, {1, kMaxSequences},
             "Sequences of the batch")
      ->type_name("B")
      ->capture_default_str();
  add_number(*command, "--directions", values->candidate.directions, {1, kMaxSamples},
             "Random directions")
      ->type_name("N")
      ->capture_default_str();
  add_number(*command, "--rounds", values->candidate.rounds, {1}, "Timed rounds")
      ->type_name("N")
      ->capture_default_str();
  add_checkpoint(*command, values->checkpoint);
  add_parent_option(*command, values->parent);
  command->callback([&action, values] { action = [values] { return values->run(); }; });
}

}  // namespace

void add_benchmark_hvp(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "benchmark-hvp", "Compare the ways of computing v'Hv: time, memory, exactness");
  const auto values = std::make_shared<BenchmarkHvpCommand>();
  add_settings_options(*command, values->settings);
  command
      ->add_option("--methods", values->methods,
                   "adjoint-weighted, forward-forward, forward-reverse, double-backward")
      ->type_name("METHOD...")
      ->capture_default_str();
  values->options.batch_sizes = {1};
  add_number(*command, "--batch-sizes", values->options.batch_sizes, {1, kMaxSequences},
             "Sizes of a batch to try, in sequences")
      ->type_name("B...")
      ->capture_default_str();
  add_number(*command, "--directions", values->options.directions, {1, kMaxSamples},
             "Random directions, all processed together")
      ->type_name("N")
      ->capture_default_str();
  add_number(*command, "--rounds", values->options.rounds, {1}, "Timed rounds; the median counts")
      ->type_name("N")
      ->capture_default_str();
  add_checkpoint(*command, values->checkpoint);
  command->add_flag("--no-reference", values->no_reference,
                    "Leave out the comparison with forward-reverse in float64");
  add_number(*command, "--time-limit", values->options.time_limit_seconds,
             config::Real::at_least(0), "Seconds after which a candidate counts as failed; 0: none")
      ->type_name("S")
      ->capture_default_str();
  command->add_option("--output", values->output, "Directory for summary.json, created if missing")
      ->type_name("DIRECTORY");
  command->footer(
      "Every candidate runs in a separate process. It uses the first tokens of data.cache if that "
      "cache\nexists, and random ids otherwise. Candidates that fail, or that need more than 90% "
      "of the machine's\nmemory, are listed but not selected. The settings are listed by `saddle "
      "options` and in\ndocs/options.md.");
  command->callback([&action, values] { action = [values] { return values->run(); }; });
  add_candidate(program, action);
}

}  // namespace saddle::app
