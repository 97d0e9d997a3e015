// Decides the state of a job from everything known: the queue, the accounting, and the note that
// the job's own script leaves at its end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cluster/job_state.h"
#include "cluster/slurm_output.h"

namespace saddle::cluster {

// Left by the script of a job when its command has finally ended: "ID EXIT_CODE".
struct EndNote {
  std::string id;
  int64_t exit_code = 0;
};
std::optional<EndNote> parse_end_note(std::string_view text);

struct Evidence {
  std::optional<JobRows> queue;       // nothing: squeue did not answer
  std::optional<JobRows> accounting;  // nothing: sacct did not answer
  std::optional<EndNote> note;
};

struct Judgement {
  JobState state = JobState::kUnknown;
  std::string source;     // squeue, sacct, note; empty: unknown
  std::string detail;     // Slurm's word, and why; for people
  std::string exit_code;  // if known
};

// The state of the job `id` that was submitted under the name `name`, which no other job has. A
// row with another name belongs to another job that got the same id later. The queue takes
// precedence over the accounting, which can lag, and the note counts only where Slurm says nothing
// final. A job that is found nowhere has an unknown state.
Judgement judge(const std::string& id, const std::string& name, const Evidence& evidence);

}  // namespace saddle::cluster
