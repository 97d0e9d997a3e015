#include "precision/compare_precision.h"

#include <memory>

#include "base/exit_codes.h"
#include "base/stop.h"
#include "base/text.h"
#include "commands.h"
#include "precision/compare_precision_json.h"

namespace saddle::app {
namespace {

struct PrecisionCommand {
  precision::PrecisionOptions options;
  std::string run_directory, output, cache;
  std::string data_case = "seen", noise_samples = "32";

  int run() const {
    precision::PrecisionOptions request = options;
    request.run = run_directory;
    request.output = output;
    if (!cache.empty()) request.cache = cache;
    request.data_case = curvature::parse_data_case(data_case);
    request.noise_samples = parse_noise_samples(noise_samples);
    const StopSignals signals;
    Log log;
    const precision::PrecisionOutcome outcome = precision::compare_precision(
        request, [&signals] { return signals.requested(); }, log);
    log.finish_progress();
    print(fmt::format("{}{} checkpoints compared, {} reused; {}\n",
                      precision::precision_text(outcome.comparisons), outcome.measured,
                      outcome.reused,
                      printable((request.output / precision::kPrecisionFile).string())));
    return outcome.completed ? kExitSuccess : kExitStopped;
  }
};

void add_what(CLI::App& command, PrecisionCommand& values) {
  command.add_option("--run", values.run_directory, "Directory of a run, finished or not")
      ->type_name("DIRECTORY")
      ->required();
  command
      .add_option("--checkpoint", values.options.checkpoints,
                  "Names of weight or state files of the run, or paths of such files")
      ->type_name("FILE...")
      ->required();
  command.add_option("--output", values.output, "Directory for precision.json, created if missing")
      ->type_name("DIRECTORY")
      ->required();
  command
      .add_option("--data-case", values.data_case,
                  "seen: epoch 1 as in training; unseen: as many sequences after the whole budget")
      ->type_name("CASE")
      ->check(CLI::IsMember({"seen", "unseen"}))
      ->capture_default_str();
  command
      .add_option("--cache", values.cache,
                  "A token cache that begins with the same tokens, instead of the run's")
      ->type_name("DIRECTORY");
}

}  // namespace

void add_compare_precision(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "compare-precision", "Compare curvature in float32 with curvature under bf16 autocast");
  const auto values = std::make_shared<PrecisionCommand>();
  add_what(*command, *values);
  add_sample_options(*command, values->noise_samples, values->options.random_samples,
                     values->options.seed);
  add_pass_options(*command, values->options.hvp_batch_size, values->options.memory_gib,
                   values->options.threads);
  command->footer(
      "Both use the batches and directions of `saddle analyze` with this seed. The Hessian under "
      "autocast\nis also applied to the float32 noise: this separates its own error from that of "
      "the directions.\nThe same command continues an interrupted comparison.");
  command->callback([&action, values] { action = [values] { return values->run(); }; });
}

}  // namespace saddle::app
