// What a job's state is, from all that is known: the queue, the accounting, and the note that the
// job's own script leaves at its end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cluster/job_state.h"
#include "cluster/slurm_output.h"

namespace saddle::cluster {

// Left by the script of a job when its command has ended for good: "ID EXIT_CODE".
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
  std::string exit_code;  // where it is known
};

// The state of the job `id` that was submitted under the name `name`, which no other job has. A
// row of another name is of another job, to which the id was given again. The queue goes before the
// accounting, which can lag behind it, and the note counts only where Slurm says nothing final.
// That a job is nowhere says nothing: its state is unknown.
Judgement judge(const std::string& id, const std::string& name, const Evidence& evidence);

}  // namespace saddle::cluster
