// Everything that a training works with, made in the order in which things can go wrong: first the
// directory and its lock, then the state to resume from, the data, the weights.
#pragma once

#include <memory>

#include "backend/context.h"
#include "base/json.h"
#include "base/log.h"
#include "config/settings.h"
#include "data/cache.h"
#include "data/evaluation.h"
#include "data/loader.h"
#include "optim/mixing.h"
#include "train/epochs.h"
#include "train/resume.h"
#include "train/run_directory.h"
#include "train/run_state.h"
#include "train/trained_model.h"
#include "train/trainer.h"

namespace saddle::train {

// Opens data.cache. Errors: kConfig when its vocabulary is not model.vocab_size; those of
// TokenCache.
data::TokenCache open_cache(const config::Settings& settings);

template <class T>
struct Session {
  // Errors: those of run_training. The directory contains no record of the run yet.
  Session(const config::Settings& settings, const TrainOptions& options, Log& log);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Writes the records of the run into its directory, and resets its results to the point from
  // which a resumed run continues. Returns the path of metrics.jsonl.
  Path begin_files(Log& log);

  config::Settings settings;
  RunDirectory directory;
  std::unique_ptr<StateFile> resumed;  // null when the run begins
  data::TokenCache cache;
  EpochPlan plan;
  Json recipe;
  optim::AdaptiveConsensus consensus;
  RunState state;
  data::ValidationSubset subset;
  backend::Context context;
  TrainedModel<T> trained;
  data::TrainingLoader loader;
};

}  // namespace saddle::train
