// Which state a run goes on from.
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
// with the most updates, of equal ones the one that has evaluated more, passing over damaged files
// with a warning that names them; null when the directory has no state.
// Errors: kData when the file, or with auto every state of the directory, is damaged; kIo when it
// cannot be read.
std::unique_ptr<StateFile> open_resume_state(const std::string& resume, const Path& directory,
                                             Log& log);

// Renames every state of `directory` with more progress than `state`, from which a run goes on
// there, to NAME.superseded (NAME.superseded-2 and so on when that is taken): auto must not go on
// from the updates that the run gave up, and nothing is deleted. Each is named in the log; damaged
// files stay as they are. Errors: kIo.
void supersede_later_states(const RunState& state, const Path& directory, Log& log);

// Checks the counters of a state, whose recipe was checked, against the plan of the run; an Error
// of kind kData when they cannot belong together.
void check_counters(const StateFile& file, const EpochPlan& plan);

}  // namespace saddle::train
