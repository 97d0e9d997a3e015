// One update in a test: a small model, a batch of random ids, and all that an update may change.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "base/ignored_target.h"
#include "model/initial_weights.h"
#include "support/test_context.h"
#include "train/small_run.h"
#include "train/update.h"

namespace saddle::train {

inline config::Settings update_settings(int64_t micro_batch_size, bool compile) {
  config::Settings settings = small_settings("unused");
  settings.training.micro_batch_size = micro_batch_size;
  settings.runtime.compile = compile;
  return settings;
}

// A batch of random ids; every third sequence ends in ignored targets, so that microbatches have
// different numbers of valid targets.
inline UpdateBatch random_batch(int64_t workers, int64_t sequences,
                                const config::ModelSettings& model, uint64_t seed = 5) {
  const int64_t size = workers * sequences * model.context_length;
  UpdateBatch batch;
  batch.sequences = sequences;
  const std::vector<uint16_t> ids = data::random_ids(size + 1, model.vocab_size, seed);
  batch.inputs.assign(ids.begin(), ids.end() - 1);
  batch.targets.assign(ids.begin() + 1, ids.end());
  for (int64_t i = 0; i < size; ++i) {
    const int64_t row = i / model.context_length;
    if (row % 3 == 1 && i % model.context_length > row % model.context_length) {
      batch.targets[static_cast<size_t>(i)] = kIgnoredTarget;
    }
  }
  return batch;
}

// The part of one worker.
inline UpdateBatch batch_of(const UpdateBatch& batch, int64_t worker, int64_t context_length) {
  const int64_t size = batch.sequences * context_length;
  UpdateBatch own;
  own.sequences = batch.sequences;
  own.inputs.assign(batch.inputs.begin() + worker * size,
                    batch.inputs.begin() + (worker + 1) * size);
  own.targets.assign(batch.targets.begin() + worker * size,
                     batch.targets.begin() + (worker + 1) * size);
  return own;
}

template <class T>
struct Updater {
  Updater(const config::Settings& settings, int64_t workers, int64_t threads = kThreads)
      : context(test_context(static_cast<int>(threads))), trained(context, settings, workers) {
    model::set_initial_weights<T>(context, settings.model, 7, trained.weights);
    runner = std::make_unique<UpdateRunner<T>>(context, settings, trained);
  }
  backend::Context context;
  TrainedModel<T> trained;
  std::unique_ptr<UpdateRunner<T>> runner;
};

// Everything in a training that an update may change, padding included.
template <class T>
std::vector<std::vector<T>> memory_of(TrainedModel<T>& trained) {
  backend::Context& context = trained.weights.context();
  return {backend::to_host<T>(context, trained.weights.all()),
          backend::to_host<T>(context, trained.optimizer.first_moments().all()),
          backend::to_host<T>(context, trained.optimizer.second_moments().all())};
}

// Bits, since NaN is not equal to itself.
template <class T>
bool same_bits(const std::vector<std::vector<T>>& a, const std::vector<std::vector<T>>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(T)) != 0) return false;
  }
  return true;
}

}  // namespace saddle::train
