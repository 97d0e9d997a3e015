// The defaults that differ between clusters, in one file of lines "key: value",
// ~/.config/saddle/slurm.yaml. scripts/slurm.sh reads the same file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace saddle::cluster {

struct Site {
  std::string account, partition, qos, constraint;  // empty: Slurm's own default, also below
  std::string cpus;                                 // --cpus-per-task
  std::string memory;                               // --mem
  std::string gpus;                                 // --gres=gpu:N
  std::string time;                                 // --time, if nothing else sets it
  std::string options;           // further sbatch options, words in quotes or not
  std::string setup;             // a shell line run before the command
  std::string program;           // for scripts/slurm.sh: the saddle executable
  int64_t signal_seconds = 300;  // the warning comes this long before the time limit
  int64_t max_restarts = 100;    // after warnings
};

// The value of an environment variable, or empty.
using Variables = std::function<std::string(const char* name)>;

// The lines of `text`, then for each key the variable SADDLE_SLURM_KEY if it is set. Errors:
// kConfig, with `where`, for a line of another form, an unknown key, and a count that is not a
// number.
Site parse_site(std::string_view text, std::string_view where, const Variables& variables);

// Reads the file that SADDLE_SLURM_SITE names, else $XDG_CONFIG_HOME/saddle/slurm.yaml, else
// ~/.config/saddle/slurm.yaml; without a file, only the variables. Errors: those of parse_site; kIo
// when the file that SADDLE_SLURM_SITE names cannot be read.
Site read_site(const Variables& variables);

// The sbatch options of a site, in a fixed order.
std::vector<std::string> site_options(const Site& site);

Json to_json(const Site& site);
// Reads what to_json() wrote. Errors: those of parse_site.
Site site_of_json(const Json& json, std::string_view where);

}  // namespace saddle::cluster
