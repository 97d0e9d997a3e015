// The settings of an existing run, for later use, also from another folder.
#pragma once

#include "base/files.h"
#include "config/settings.h"

namespace saddle::train {

// Reads resolved.yaml in the directory `run`. A relative path that does not exist in the working
// directory becomes one in the folder where the run was started, according to environment.json
// (else in the working directory): it may exist there, and an error for a missing file names that
// folder. Does not call check_settings. Errors: kIo; those of config::apply_yaml; kData for a
// damaged environment.json.
config::Settings run_settings(const Path& run);

}  // namespace saddle::train
