// The checkpoints of a run that an analysis measures: finds them by name and joins identical ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "config/settings.h"

namespace saddle::analysis {

// A file of weights, and a hash of its contents when it was found.
struct HashedWeights {
  Path file;
  std::string sha256;  // weights_sha256() of it
};

struct Checkpoint {
  std::vector<std::string> names;  // of one set of weights, in the order requested
  Path file;                       // of the first name
  std::string weights_sha256;      // of names, shapes, types and bytes of only the weights
  // As noted in the file; nothing for weights from elsewhere or from a run with another recipe.
  std::optional<int64_t> epoch;
  std::optional<int64_t> step;
  std::optional<int64_t> tokens;  // targets trained on
  // For a packed run whose consensus errors are measured: the weights of each worker, and the
  // SHA-256 of all their weights_sha256; else nothing.
  std::vector<HashedWeights> workers;
  std::string workers_sha256;
};

// names, weights_sha256, epoch, step, tokens; null for unknown values.
Json to_json(const Checkpoint& checkpoint);

// `known` is the to_json() of the same weights. Adds the names that it lacks and, if it has no
// place in the run, that of `checkpoint`. Returns whether anything was added.
bool add_what_is_new(const Checkpoint& checkpoint, Json& known);

inline constexpr const char* kAllCheckpoints = "all";

// The weights in one file: `name` is that of a file in the directory of the run, with or without
// ".safetensors", or, if it contains a '/', a path. The file is a weight file or a state file of
// one worker. Errors: kConfig if there is no such file, listing the available names; kData if the
// file is damaged, of another model or not finite (model::load_weights).
Checkpoint find_checkpoint(const Path& run, const config::Settings& settings,
                           const std::string& name);

// The checkpoints of `names` in their order, each set of weights once with all its names. "all":
// the weights after each epoch that the run kept, and its final weights. Errors: those of
// find_checkpoint(); kConfig if the run has none.
std::vector<Checkpoint> find_checkpoints(const Path& run, const config::Settings& settings,
                                         const std::vector<std::string>& names);

// Sets `workers` of a checkpoint of a packed run: node-NNN/NAME.safetensors next to its file, for
// the first of its names that has them. Errors: kConfig if a file is missing; those of
// find_checkpoint().
void find_workers(const Path& run, const config::Settings& settings, Checkpoint& checkpoint);

// SHA-256 over the tensors of `file` that belong to a model with these settings, in canonical
// order.
std::string weights_sha256(const Path& file, const config::ModelSettings& model);

// For a file that is read again after it was found: a running training may have replaced it.
// Errors: kData if it no longer holds the same weights.
void check_unchanged(const HashedWeights& weights, const config::ModelSettings& model);

}  // namespace saddle::analysis
