// Which checkpoints a run keeps, and their files.
//
//   epoch-NNN.safetensors         weights after an epoch that the policy keeps; with several
//   workers
//                                 their average
//   node-NNN/epoch-NNN.safetensors  weights of each of several workers, node-000 is the first
//   epoch-NNN.state.safetensors   the full state there
//   final.safetensors             weights at the end (and node-NNN/final.safetensors), and
//   final.state.safetensors       the full state there, unless the policy is none
//   latest.state.safetensors      policy all: every training.checkpoint_every updates; also the
//                                 recovery state of a run that a signal stopped
#pragma once

#include <string>

#include "base/files.h"
#include "base/json.h"
#include "config/settings.h"
#include "train/epochs.h"
#include "train/state_file.h"

namespace saddle::train {

inline constexpr const char* kStateSuffix = ".state.safetensors";

class Checkpoints {
 public:
  Checkpoints(const config::TrainingSettings& settings, Path directory, Json recipe);

  bool keeps_states() const;              // any at all
  bool keeps_epoch(int64_t epoch) const;  // epochs count from 1
  bool rolling_due(int64_t step) const;

  // Each returns the name of the state written. `kept` [1, D_padded]: the weights of the only
  // worker, or the average of several. Errors: those of save_state.
  template <class T>
  std::string save_epoch(int64_t epoch, const RunState& state, const TrainedModel<T>& trained,
                         const backend::Arena<T>& kept);
  template <class T>
  std::string save_final(int64_t epoch, const RunState& state, const TrainedModel<T>& trained,
                         const backend::Arena<T>& kept);
  template <class T>
  std::string save_latest(const RunState& state, const TrainedModel<T>& trained);

 private:
  template <class T>
  std::string save_both(const std::string& name, int64_t epoch, const RunState& state,
                        const TrainedModel<T>& trained, const backend::Arena<T>& kept);

  config::TrainingSettings settings_;
  Path directory_;
  Json recipe_;
};

}  // namespace saddle::train
