#include "analyze_command.h"

#include "number_options.h"

namespace saddle::app {
namespace {

void add_where(CLI::App& command, AnalyzeValues& values) {
  command.add_option("--run", values.run_directory, "Directory of a run, finished or not")
      ->type_name("DIRECTORY")
      ->required();
  command.add_option("--output", values.output, "Directory of results, created if missing")
      ->type_name("DIRECTORY")
      ->required();
  command
      .add_option("--checkpoints", values.options.checkpoints,
                  "Names of weight or state files of the run, or all: the weights kept after "
                  "epochs, and the final weights")
      ->type_name("all|NAME...")
      ->capture_default_str();
  command
      .add_option("--data-case", values.data_case,
                  "seen: epoch 1 as in training; unseen: as many sequences after the whole budget")
      ->type_name("CASE")
      ->check(CLI::IsMember({"seen", "unseen", "both"}))
      ->capture_default_str();
  command
      .add_option("--cache", values.cache,
                  "A token cache that begins with the same tokens, instead of the run's")
      ->type_name("DIRECTORY");
}

void add_directions(CLI::App& command, AnalyzeValues& values) {
  add_sample_options(command, values.noise_samples, values.options.random_samples,
                     values.options.seed);
  command
      .add_option(
          "--direction", values.directions,
          "A file with the names and shapes of the weights, used as a direction; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      .add_option("--direction-between", values.between,
                  "The difference of two checkpoints as a direction; may be repeated")
      ->type_name("A B")
      ->type_size(2);
  command.add_flag("--no-consensus", values.no_consensus,
                   "For a packed run: leave out the consensus errors of the workers");
}

void add_spectrum(CLI::App& command, AnalyzeValues& values) {
  curvature::SpectrumOptions& spectrum = values.options.spectrum;
  add_number(command, "--top-eigenvalues", spectrum.top_eigenvalues, {0, kMaxSamples},
             "Report the K largest eigenvalues of the Hessian")
      ->type_name("K")
      ->capture_default_str();
  command.add_flag("--spectrum", spectrum.density,
                   "Report the density of the Hessian's eigenvalues");
  add_number(command, "--lanczos-steps", spectrum.steps, {1},
             "For both: Hessian-vector products per start vector, each a pass over the epoch")
      ->type_name("M")
      ->capture_default_str();
  add_number(command, "--spectrum-starts", spectrum.starts, {1, kMaxSamples},
             "Random start vectors over which the density is averaged")
      ->type_name("S")
      ->capture_default_str();
}

void add_execution(CLI::App& command, AnalyzeValues& values) {
  command
      .add_option("--method", values.method,
                  "adjoint-weighted, forward-forward, forward-reverse or double-backward")
      ->type_name("METHOD")
      ->capture_default_str();
  command.add_option("--dtype", values.dtype, "Number type of weights and products")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"float32", "float64"}))
      ->capture_default_str();
  command.add_flag("--amp", values.options.amp, "bf16 autocast in the forward pass");
  add_pass_options(command, values.options.hvp_batch_size, values.options.memory_gib,
                   values.options.threads);
}

}  // namespace

analysis::AnalysisOptions AnalyzeValues::resolved() const {
  analysis::AnalysisOptions request = options;
  request.run = run_directory;
  request.output = output;
  if (!cache.empty()) request.cache = cache;
  if (data_case != "both") request.cases = {curvature::parse_data_case(data_case)};
  request.noise_samples = parse_noise_samples(noise_samples);
  request.method = curvature::parse_method(method);
  request.dtype = dtype == "float64" ? config::Precision::kFloat64 : config::Precision::kFloat32;
  request.consensus = !no_consensus;
  request.directions.assign(directions.begin(), directions.end());
  for (size_t i = 0; i + 1 < between.size(); i += 2) {
    request.between.push_back({between[i], between[i + 1]});
  }
  return request;
}

void add_analysis_options(CLI::App& command, AnalyzeValues& values) {
  add_where(command, values);
  add_directions(command, values);
  add_spectrum(command, values);
  add_execution(command, values);
}

}  // namespace saddle::app
