#include "train/checkpoints.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "model/weights_file.h"

namespace saddle::train {

using config::CheckpointPolicy;

Checkpoints::Checkpoints(const config::TrainingSettings& settings, Path directory, Json recipe)
    : settings_(settings), directory_(std::move(directory)), recipe_(std::move(recipe)) {}

bool Checkpoints::keeps_states() const {
  return settings_.checkpoint_policy != CheckpointPolicy::kNone;
}

bool Checkpoints::keeps_epoch(int64_t epoch) const {
  switch (settings_.checkpoint_policy) {
    case CheckpointPolicy::kAll:
      return true;
    case CheckpointPolicy::kInterval:
      return epoch % settings_.checkpoint_epochs.at(0) == 0;
    case CheckpointPolicy::kExplicit:
      return std::ranges::find(settings_.checkpoint_epochs, epoch) !=
             settings_.checkpoint_epochs.end();
    case CheckpointPolicy::kFinal:
    case CheckpointPolicy::kNone:
      break;
  }
  return false;
}

bool Checkpoints::rolling_due(int64_t step) const {
  return settings_.checkpoint_policy == CheckpointPolicy::kAll &&
         step % settings_.checkpoint_every == 0;
}

template <class T>
std::string Checkpoints::save_both(const std::string& name, int64_t epoch, const RunState& state,
                                   const TrainedModel<T>& trained, const backend::Arena<T>& kept) {
  const std::string weights = name + ".safetensors";
  Json about = {{"epoch", epoch}, {"step", state.step}, {"recipe", recipe_}};
  model::save_weights<T>(directory_ / weights, kept, 0, {{"saddle.weights", about.dump()}});
  for (int64_t n = 0; trained.workers() > 1 && n < trained.workers(); ++n) {
    const Path node = directory_ / fmt::format("node-{:03}", n);
    make_directories(node);
    about["worker"] = n;
    model::save_weights<T>(node / weights, trained.weights, n, {{"saddle.weights", about.dump()}});
  }
  const std::string file = name + kStateSuffix;
  save_state<T>(directory_ / file, state, recipe_, trained);
  return file;
}

template <class T>
std::string Checkpoints::save_epoch(int64_t epoch, const RunState& state,
                                    const TrainedModel<T>& trained, const backend::Arena<T>& kept) {
  return save_both(fmt::format("epoch-{:03}", epoch), epoch, state, trained, kept);
}

template <class T>
std::string Checkpoints::save_final(int64_t epoch, const RunState& state,
                                    const TrainedModel<T>& trained, const backend::Arena<T>& kept) {
  return save_both("final", epoch, state, trained, kept);
}

template <class T>
std::string Checkpoints::save_latest(const RunState& state, const TrainedModel<T>& trained) {
  const std::string file = std::string("latest") + kStateSuffix;
  save_state<T>(directory_ / file, state, recipe_, trained);
  return file;
}

#define SADDLE_INSTANTIATE(T)                                                      \
  template std::string Checkpoints::save_epoch<T>(                                 \
      int64_t, const RunState&, const TrainedModel<T>&, const backend::Arena<T>&); \
  template std::string Checkpoints::save_final<T>(                                 \
      int64_t, const RunState&, const TrainedModel<T>&, const backend::Arena<T>&); \
  template std::string Checkpoints::save_latest<T>(const RunState&, const TrainedModel<T>&);
SADDLE_INSTANTIATE(float)
SADDLE_INSTANTIATE(double)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::train
