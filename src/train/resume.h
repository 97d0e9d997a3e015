// The state from which a run continues.
#pragma once

#include <memory>
#include <string>

#include "base/files.h"
#include "base/log.h"
#include "train/epochs.h"
#include "train/state_file.h"

namespace saddle::train {

inline constexpr const char* kResumeAuto = "auto";

// `resume` is a path, kResumeAuto, or empty (null is returned). Auto takes the state of `directory`
// with the most updates, among equal ones the one that has evaluated more. It skips damaged files
// with a warning that names them, and returns null when the directory has no state.
// Errors: kData when the file, or with auto every state of the directory, is damaged; kIo when it
// cannot be read.
std::unique_ptr<StateFile> open_resume_state(const std::string& resume, const Path& directory,
                                             Log& log);

// A run continues from `state` in `directory`: renames every state there with more progress to
// NAME.superseded (NAME.superseded-2 and so on if that name is taken). Auto must not continue from
// the updates that the run gave up, and nothing is deleted. The log names each file; damaged files
// stay as they are. Errors: kIo.
void supersede_later_states(const RunState& state, const Path& directory, Log& log);

// Checks the counters of a state, whose recipe was checked, against the plan of the run. Errors:
// kData when they cannot belong together.
void check_counters(const StateFile& file, const EpochPlan& plan);

}  // namespace saddle::train
