#include <fmt/format.h>

#include "cluster/analysis_submission.h"

namespace saddle::cluster {
namespace {

std::string full_path(const Path& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

std::vector<std::string> analysis_words(const analysis::AnalysisOptions& options,
                                        const std::vector<std::string>& checkpoints,
                                        const Path& output) {
  std::vector<std::string> words = {"analyze", "--run", full_path(options.run)};
  const auto add = [&words](const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  add({"--checkpoints"});
  add(checkpoints);
  add({"--data-case", options.cases.size() == 1
                          ? std::string(curvature::data_case_name(options.cases[0]))
                          : "both"});
  if (options.cache) add({"--cache", full_path(*options.cache)});
  add({"--noise-samples", options.noise_samples ? std::to_string(*options.noise_samples) : "all",
       "--random-samples", std::to_string(options.random_samples), "--seed",
       std::to_string(options.seed), "--method",
       std::string(curvature::method_name(options.method)), "--dtype",
       std::string(config::name(options.dtype)), "--hvp-batch-size",
       std::to_string(options.hvp_batch_size), "--memory-gib",
       fmt::format("{}", options.memory_gib)});
  if (options.threads != 0) add({"--threads", std::to_string(options.threads)});
  if (options.amp) add({"--amp"});
  if (!options.consensus) add({"--no-consensus"});
  for (const Path& file : options.directions) add({"--direction", full_path(file)});
  for (const auto& [from, to] : options.between) add({"--direction-between", from, to});
  const curvature::SpectrumOptions& spectrum = options.spectrum;
  if (spectrum.wanted()) {
    add({"--top-eigenvalues", std::to_string(spectrum.top_eigenvalues), "--lanczos-steps",
         std::to_string(spectrum.steps), "--spectrum-starts", std::to_string(spectrum.starts)});
    if (spectrum.density) add({"--spectrum"});
  }
  add({"--output", full_path(output)});
  return words;
}

}  // namespace saddle::cluster
