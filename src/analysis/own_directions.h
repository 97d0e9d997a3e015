// Directions that are read from files: those given by the user, differences of checkpoints, and the
// consensus errors of a packed run's workers.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "analysis/analysis_checkpoints.h"
#include "analysis/analysis_identity.h"
#include "backend/context.h"
#include "base/files.h"
#include "config/settings.h"
#include "curvature/measure_case.h"

namespace saddle::analysis {

template <class T>
struct CheckedDirections {
  std::vector<curvature::NamedDirection<T>> directions;
  std::vector<DirectionIdentity> identities;  // one per direction
};

// `files`: tensors under the canonical names, F32 or F64; each direction is named after its file,
// without ".safetensors". `between`: pairs (A, B) of names as find_checkpoint() takes them; the
// direction is B - A, computed in double, and named "A to B". Every file is read once here, so that
// faults are found early, and again whenever a direction is written, with an Error of kind kData if
// the file has changed since (check_unchanged()).
// Errors: kData, naming file and tensor, if a tensor is missing, extra, of another shape or not
// finite in T, and for a direction that is zero in T; kConfig if two directions have the same name;
// those of find_checkpoint().
template <class T>
CheckedDirections<T> own_directions(backend::Context& context, const Path& run,
                                    const config::Settings& settings,
                                    const std::vector<Path>& files,
                                    const std::vector<std::array<std::string, 2>>& between);

// The consensus errors of a checkpoint of a packed run: for each of its `workers` the weights of
// that worker minus those of the checkpoint, which are the average; named "worker 0", ...
template <class T>
std::vector<curvature::NamedDirection<T>> consensus_errors(const config::ModelSettings& model,
                                                           const Checkpoint& checkpoint);

}  // namespace saddle::analysis
