// A finished run of a tiny model with checkpoints, and a fast analysis of it.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "analysis/analysis.h"
#include "train/small_run.h"

namespace saddle::analysis {

// Ten epochs of 27 sequences in four optimizer batches, with weights kept after epochs 5 and 10 and
// at the end; the last two are the same. The cache is large enough for the case `unseen`.
struct AnalyzedRun {
  AnalyzedRun() : settings(train::small_settings(directory.path())) {
    settings.training.checkpoint_policy = config::CheckpointPolicy::kInterval;
    settings.training.checkpoint_epochs = {5};
    data::write_token_cache(settings.data.cache, data::random_ids(297 * 8 + 1, 61, 1),
                            data::random_ids(24 * 8 + 4, 61, 2), 61);
    Log log = Log::silent();
    train::run_training(settings, {}, log);
  }

  Path run() const { return settings.runtime.output_dir; }
  Path output() const { return directory / "analysis"; }

  AnalysisOptions options() const {
    AnalysisOptions options;
    options.run = run();
    options.random_samples = 3;
    options.threads = train::kThreads;
    options.output = output();
    return options;
  }

  // Every case file by name, as bytes.
  std::map<std::string, std::string> case_files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(output())) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".seen.json") || name.ends_with(".unseen.json")) {
        files[name] = read_file(entry.path());
      }
    }
    return files;
  }

  TemporaryDirectory directory;
  config::Settings settings;
};

inline AnalysisOutcome analyze(
    const AnalysisOptions& options, const std::function<int()>& stop = [] { return 0; }) {
  Log log = Log::silent();
  return run_analysis(options, stop, log);
}

}  // namespace saddle::analysis
