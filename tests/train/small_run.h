// A run that takes a fraction of a second: a tiny model and a token cache of random ids.
#pragma once

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "backend/tensor.h"
#include "base/json.h"
#include "base/log.h"
#include "config/settings.h"
#include "model/safetensors.h"
#include "support/temporary_directory.h"
#include "support/token_cache.h"
#include "train/trainer.h"

namespace saddle::train {

inline constexpr int64_t kThreads = 1;

#if defined(__SANITIZE_THREAD__)
inline constexpr int64_t kManyThreads = 1;  // the thread sanitizer does not know OpenMP's barriers
#else
inline constexpr int64_t kManyThreads = 2;
#endif

// 40 updates: ten epochs of 27 blocks, each with three updates of 8 sequences and one of 3, in
// microbatches of 4 (and 3).
inline config::Settings small_settings(const Path& directory) {
  config::Settings settings;
  settings.model = {
      .vocab_size = 61, .context_length = 8, .layers = 2, .width = 16, .heads = 2, .ffn_width = 24};
  settings.data.cache = (directory / "cache").string();
  settings.training.max_tokens = 270 * 8;
  settings.training.epoch_tokens = 27 * 8;
  settings.training.batch_tokens = 8 * 8;
  settings.training.micro_batch_size = 4;
  settings.training.log_every = 1;
  settings.optimizer.lr = 0.01;
  settings.evaluation.subset_blocks = 10;
  settings.evaluation.batch_size = 5;
  settings.runtime.threads = kThreads;
  settings.runtime.output_dir = (directory / "run").string();
  return settings;
}

// Settings and cache in a fresh directory.
struct SmallRun {
  SmallRun() : settings(small_settings(directory.path())) {
    data::write_token_cache(settings.data.cache, data::random_ids(270 * 8 + 1, 61, 1),
                            data::random_ids(24 * 8 + 4, 61, 2), 61);
  }

  Path file(const std::string& name) const { return Path(settings.runtime.output_dir) / name; }

  TrainOutcome train(const TrainOptions& options = {}) const {
    Log log = Log::silent();
    return run_training(settings, options, log);
  }

  TemporaryDirectory directory;
  config::Settings settings;
};

inline std::vector<Json> read_lines(const Path& path) {
  std::vector<Json> lines;
  if (!std::filesystem::exists(path)) return lines;
  std::istringstream text(read_file(path));
  for (std::string line; std::getline(text, line);) lines.push_back(parse_json(line, "a line"));
  return lines;
}

// Asks to stop once the metrics of a run have the train line of update `step`.
inline TrainOptions stop_after(const SmallRun& run, int64_t step, const std::string& resume = "") {
  TrainOptions options;
  options.resume = resume;
  options.stop = [path = run.file("metrics.jsonl"), step] {
    for (const Json& line : read_lines(path)) {
      if (line.at("type") == "train" && line.at("step") >= step) return SIGTERM;
    }
    return 0;
  };
  return options;
}

inline TrainOptions resume_from(const std::string& file) {
  TrainOptions options;
  options.resume = file;
  return options;
}

// The tensors of a safetensors file, as bytes.
inline std::map<std::string, std::string> tensor_bytes(const Path& path) {
  const model::SafetensorsReader reader(path);
  std::map<std::string, std::string> tensors;
  for (const model::TensorEntry& entry : reader.entries()) {
    std::string bytes(static_cast<size_t>(entry.bytes), '\0');
    const int64_t count = entry.bytes / model::element_bytes(entry.dtype);
    reader.read(entry, 0, count, bytes.data());
    tensors[entry.name] = bytes;
  }
  return tensors;
}

// Writes element 3 of a tensor of one worker.
template <class T>
void plant(backend::Arena<T>& arena, const char* name, int64_t worker, T value) {
  const auto& slots = arena.layout().slots();
  const int slot = static_cast<int>(arena.layout().find(name) - slots.data());
  const auto view = arena.view(slot).worker_range(worker, 1);
  std::vector<T> values = backend::to_host<T>(arena.context(), view);
  values[3] = value;
  backend::copy_from_host<T>(arena.context(), values.data(), 0, view);
}

// Overwrites a number of a float32 tensor in a file; save functions would refuse to write such a
// file.
inline void plant_in_file(const Path& path, const char* name, float value) {
  const int64_t offset = model::SafetensorsReader(path).find(name)->offset;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offset);
  file.write(reinterpret_cast<const char*>(&value), sizeof value);
}

// The lines of a metrics file without the fields that contain times.
inline std::vector<std::string> numbers_of(const Path& metrics) {
  std::vector<std::string> lines;
  for (Json line : read_lines(metrics)) {
    for (const char* field : {"seconds", "tokens_per_second", "elapsed_tokens_per_second"}) {
      line.erase(field);
    }
    lines.push_back(line.dump());
  }
  return lines;
}

}  // namespace saddle::train
