// The settings of a run that is there, for what is done with it later and elsewhere.
#pragma once

#include "base/files.h"
#include "config/settings.h"

namespace saddle::train {

// Those of resolved.yaml in the directory `run`. A relative path among them that is not there, seen
// from the working directory, becomes one in the folder that the run was started in, as
// environment.json tells it (else in the working directory): it may be there, and an error that it
// is not names that folder. Does not call check_settings. Errors: kIo; those of config::apply_yaml;
// kData for a damaged environment.json.
config::Settings run_settings(const Path& run);

}  // namespace saddle::train
