// The full batches for benchmark-worker: read as in training, or random ids.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "config/settings.h"
#include "data/cache.h"
#include "data/loader.h"
#include "train/update.h"

namespace saddle::bench {

enum class DataMode { kReal, kSynthetic };

class UpdateSource {
 public:
  // Real: the blocks of the budget, or as many as data.cache has, in the order of training, read
  // according to data.prefetch. Synthetic: the same random ids in every update. Errors: those of
  // train::open_cache and data::TrainingLoader; kData if there are fewer blocks than in one update.
  UpdateSource(const config::Settings& settings, DataMode mode);

  // Writes the next training.batch_tokens targets. If fewer are left, starts from the beginning.
  void next(train::UpdateBatch& batch);

 private:
  void begin();

  int64_t context_length_;
  int64_t workers_;
  int64_t blocks_;  // of an update
  data::LoaderOptions options_;
  std::optional<data::TokenCache> cache_;
  std::unique_ptr<data::TrainingLoader> loader_;
  train::UpdateBatch random_;
};

}  // namespace saddle::bench
