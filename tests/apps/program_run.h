// A tiny run with its settings in a file, for the program.
#pragma once

#include <string>

#include "config/load.h"
#include "support/run_program.h"
#include "train/small_run.h"

namespace saddle {

struct ProgramRun : train::SmallRun {
  // A command with the current settings, as typed in a shell after "saddle".
  std::string words(const std::string& command) const {
    write_file_atomically(directory / "settings.yaml", config::to_yaml(settings));
    return command + " --config " + (directory / "settings.yaml").string();
  }
  // A run of thousands of updates.
  void make_long() {
    settings.training.max_tokens = 6'400'000;
    settings.training.epoch_tokens = 6'400'000;
    settings.data.cache = (directory / "longer").string();
    data::write_token_cache(settings.data.cache, data::random_ids(6'400'001, 61, 1),
                            data::random_ids(24 * 8 + 4, 61, 2), 61);
  }
};

}  // namespace saddle
