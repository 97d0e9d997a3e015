// State files: everything that a run needs to continue, in one safetensors file. Weights have their
// canonical names, so that a file of one worker is also a weight file; the moments are
// first_moment.NAME and second_moment.NAME; all in the number type of the run. With several workers
// each name has a prefix "worker-000." and so on. Counters and recipe are JSON in the metadata.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "model/safetensors.h"
#include "train/run_state.h"
#include "train/state_note.h"
#include "train/trained_model.h"

namespace saddle::train {

// What decides the numbers of a run: the recipe settings, the identity of its token cache
// ("data.identity") and the number of workers ("workers").
Json run_recipe(const config::Settings& settings, const std::string& data_identity,
                int64_t workers);

// Writes a state file, whole or not at all. Errors: kNumeric, naming file and tensor, when a weight
// or moment is not finite; kIo.
template <class T>
void save_state(const Path& path, const RunState& state, const Json& recipe,
                const TrainedModel<T>& trained);

// A state file opened for reading. Errors: kData for a file that is truncated, damaged or of
// another kind or version.
class StateFile {
 public:
  explicit StateFile(const Path& path);

  const Path& path() const { return reader_.path(); }
  const RunState& state() const { return note_.state; }

  // Errors: kConfig, naming each field in which the file's recipe differs from `recipe`, with the
  // expected value and the value in the file.
  void check_recipe(const Json& recipe) const;

  // Reads weights and moments of every worker. Errors: kData for missing tensors or other shapes.
  template <class T>
  void load(TrainedModel<T>& trained) const;

 private:
  model::SafetensorsReader reader_;
  StateNote note_;
};

}  // namespace saddle::train
