#include "train/session.h"

#include <filesystem>
#include <vector>

#include "base/environment.h"
#include "base/error.h"
#include "base/narrow.h"
#include "model/initial_weights.h"
#include "optim/schedule.h"
#include "train/metrics.h"

namespace saddle::train {
namespace {

// The directory, with the log of the run attached once it is known to be this run's.
RunDirectory open_directory(const config::Settings& settings, const TrainOptions& options,
                            Log& log) {
  RunDirectory directory(settings.runtime.output_dir);
  const std::string used_by = directory.used_by();
  if (options.resume.empty() && !used_by.empty()) {
    fail(ErrorKind::kConfig,
         "runtime.output_dir '{}' already contains a run ({}): choose another directory, or "
         "continue the run with --resume",
         directory.path().string(), used_by);
  }
  log.add_file(directory.file("run.log"));
  return directory;
}

std::unique_ptr<StateFile> open_state(const RunDirectory& directory, const TrainOptions& options,
                                      Log& log) {
  std::unique_ptr<StateFile> state = open_resume_state(options.resume, directory.path(), log);
  const std::string used_by = directory.used_by();
  if (state == nullptr && !used_by.empty()) {
    fail(ErrorKind::kConfig,
         "runtime.output_dir '{}' contains a run ({}) but no state to resume it from: choose "
         "another directory, or remove this one",
         directory.path().string(), used_by);
  }
  if (state == nullptr && options.resume == kResumeAuto) {
    log.info("'{}' contains no state to resume from: the run starts from the beginning",
             directory.path().string());
  }
  return state;
}

// The state of the run: its beginning, or the resumed state after a check that it belongs to the
// run.
RunState initial_state(const StateFile* resumed, const Json& recipe, const EpochPlan& plan) {
  if (resumed == nullptr) return {};
  resumed->check_recipe(recipe);
  check_counters(*resumed, plan);
  return resumed->state();
}

// For the whole run: it depends on all learning rates.
optim::AdaptiveConsensus adaptive_consensus(const config::Settings& settings,
                                            const EpochPlan& plan) {
  const config::DecentralizedSettings& decentralized = settings.decentralized;
  if (decentralized.num_models == 1 || !decentralized.adaptive_consensus.start_frac) return {};
  const int64_t total = plan.tokens(plan.total_blocks());
  std::vector<double> rates;
  for (int64_t position = 0; position < plan.total_blocks();) {
    position += plan.next_update_blocks(position);
    rates.push_back(optim::learning_rate(settings.optimizer, plan.tokens(position), total));
  }
  return {decentralized.adaptive_consensus, rates};
}

data::LoaderOptions loader_options(const config::Settings& settings, const EpochPlan& plan) {
  return {.context_length = settings.model.context_length,
          .total_blocks = plan.total_blocks(),
          .buffer_bytes = settings.data.buffer_size_mib * (int64_t{1} << 20),
          .seed = narrow<uint64_t>(settings.runtime.seed),
          .prefetch = settings.data.prefetch};
}

}  // namespace

int computing_threads(const config::Settings& settings) {
  return settings.runtime.threads == 0 ? available_cores() : narrow<int>(settings.runtime.threads);
}

data::TokenCache open_cache(const config::Settings& settings) {
  data::TokenCache cache(settings.data.cache);
  if (cache.vocab_size() != settings.model.vocab_size) {
    fail(ErrorKind::kConfig,
         "model.vocab_size is {}, but the token cache '{}' was made with a vocabulary of {}",
         settings.model.vocab_size, settings.data.cache, cache.vocab_size());
  }
  return cache;
}

template <class T>
Session<T>::Session(const config::Settings& run_settings, const TrainOptions& options, Log& log)
    : settings(run_settings),
      directory(open_directory(settings, options, log)),
      resumed(open_state(directory, options, log)),
      cache(open_cache(settings)),
      plan(settings),
      recipe(run_recipe(settings, cache.identity(), settings.decentralized.num_models)),
      consensus(adaptive_consensus(settings, plan)),
      state(initial_state(resumed.get(), recipe, plan)),
      subset(data::validation_subset(cache, settings.evaluation.subset_blocks,
                                     narrow<uint64_t>(settings.evaluation.seed),
                                     settings.model.context_length)),
      context(computing_threads(settings)),
      trained(context, settings, settings.decentralized.num_models),
      loader(cache, loader_options(settings, plan), state.position) {
  if (resumed != nullptr) {
    resumed->load<T>(trained);
    log.info("resuming from {}: {} updates, {} tokens done", resumed->path().string(), state.step,
             plan.tokens(state.position));
  } else {
    model::set_initial_weights<T>(context, settings.model, narrow<uint64_t>(settings.runtime.seed),
                                  trained.weights);
  }
}

template <class T>
Path Session<T>::begin_files(Log& log) {
  directory.write_records(settings, context.threads(), resumed ? resumed->path() : Path(),
                          cache.identity());
  // States and results of updates after the state from which the run continues are outdated.
  if (resumed != nullptr) supersede_later_states(state, directory.path(), log);
  std::filesystem::remove(directory.file("result.json"));
  std::filesystem::remove(directory.file("best.json"));
  if (state.best) write_json(directory.file("best.json"), to_json(*state.best));
  cut_metrics(directory.metrics(), state, log);
  return directory.metrics();
}

template struct Session<float>;
template struct Session<double>;

}  // namespace saddle::train
