// The text of a batch script: a function of the job's description alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"
#include "cluster/site.h"

namespace saddle::cluster {

struct BatchTask {
  int64_t index = 0;                 // of the job array
  std::vector<std::string> command;  // the program and its words
  Path end_note;                     // where the script notes how the command ended (evidence.h)
};

struct JobDescription {
  std::string name;  // letters, digits, "-" and "_"
  Path directory;    // where the command runs
  Path log;          // as log_pattern() writes it
  int64_t wall_seconds = 0;
  bool array = false;         // one task for each of `tasks`; otherwise exactly one
  int64_t tasks_at_once = 0;  // of an array; 0: as many as Slurm allows
  std::vector<BatchTask> tasks;
  Site site;
};

// The options of sbatch that define this job: on the command line they override everything in the
// environment. Errors: kUsage for a path with a double quote, a backslash or a line break;
// kInternal for a description that contradicts itself.
std::vector<std::string> own_options(const JobDescription& job);

// The script: #SBATCH lines for the site's and the job's options, the choice of the task, and
// the lines of kRunCommand. Errors: those of own_options().
std::string batch_text(const JobDescription& job);

// Runs "${command[@]}", passes Slurm's warning on, puts the job back into the queue after it, and
// leaves the exit code in `code`. scripts/slurm.sh has the same lines.
extern const char* const kRunCommand;

// The value of --output for logs in `directory`: Slurm replaces %j by the number of the job, and in
// an array %A by the array's number and %a by the task's. A % of the directory itself is doubled.
Path log_pattern(const Path& directory, bool array);

// The file that Slurm writes for a pattern and the job `id`: 17, or 17_3 of an array.
Path log_file(const Path& pattern, const std::string& id);

// A word quoted so that a shell reads it back unchanged.
std::string shell_quoted(const std::string& word);

}  // namespace saddle::cluster
