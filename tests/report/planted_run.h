// Directories of runs with numbers chosen by a test.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "config/load.h"
#include "config/settings.h"

namespace saddle::report {

// A run of 1,000 tokens per update, evaluated after every second update.
struct PlantedRun {
  PlantedRun() {
    settings.model.context_length = 100;
    settings.training.batch_tokens = 1000;
    settings.training.max_tokens = 4000;
    settings.training.epoch_tokens = 2000;
    settings.training.micro_batch_size = 10;
  }

  config::Settings settings;
  std::vector<Json> losses = {5.0, 4.0, 3.5, 3.25};
  std::vector<Json> rates = {100, 200, 400, 400};
  std::vector<Json> distances{};  // of several workers
  bool finished = true;
  std::string log{};  // run.log, without the times

  void write(const Path& directory) const {
    make_directories(directory);
    write_file_atomically(directory / "resolved.yaml", config::to_yaml(settings));
    write_json(directory / "environment.json",
               {{"threads", 2}, {"data_identity", "data-1"}, {"build", {{"revision", "aaaa"}}}});
    write_file_atomically(directory / "metrics.jsonl", metrics());
    if (!log.empty()) {
      write_file_atomically(directory / "run.log", "2026-01-31T12:00:00Z info    " + log + "\n");
    }
    if (!finished) return;
    write_json(directory / "result.json",
               {{"step", losses.size()},
                {"tokens", 1000 * losses.size()},
                {"tokens_per_second", 320.5},
                {"elapsed_tokens_per_second", 250},
                {"seconds", {{"training", 10}, {"evaluation", 4}, {"checkpoints", 2}}},
                {"peak_memory_bytes", 3 << 20}});
  }

  std::string metrics() const {
    std::string text;
    for (size_t i = 0; i < losses.size(); ++i) {
      Json line = {{"type", "train"},
                   {"step", i + 1},
                   {"tokens", 1000 * (i + 1)},
                   {"epoch", i / 2 + 1},
                   {"loss", losses[i]},
                   {"tokens_per_second", rates[i]},
                   {"seconds", 2.5 * static_cast<double>(i + 1)}};
      if (!distances.empty()) line["consensus_distance"] = distances[i];
      text += line.dump() + "\n";
      if (i % 2 == 1) text += evaluation("evaluation", i + 1, 3.75).dump() + "\n";
    }
    if (finished) text += evaluation("validation", losses.size(), 3.5).dump() + "\n";
    return text;
  }

  static Json evaluation(const char* type, size_t step, double loss) {
    return {{"type", type},          {"epoch", step / 2}, {"step", step},
            {"tokens", 1000 * step}, {"loss", loss},      {"perplexity", 33.5},
            {"targets", 600},        {"seconds", 1},      {"validation_complete", true}};
  }
};

}  // namespace saddle::report
