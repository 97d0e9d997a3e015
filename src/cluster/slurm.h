// Calls the commands of Slurm, which are found along PATH.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/evidence.h"
#include "cluster/site.h"
#include "cluster/slurm_output.h"

namespace saddle::cluster {

struct SubmitOutcome {
  std::optional<SubmittedJob> job;
  bool refused = false;  // certainly no job was made
  std::string message;   // of sbatch, when there is no job
};

// True for messages that say that no job was made; not for a time-out or a broken connection.
bool is_refusal(const std::string& message);

// Errors: kDevice when sbatch or squeue is not on this machine; kIo when the controller does not
// answer. Call it before the first submission, so that it fails while nothing can be lost.
void check_slurm_answers();

// Runs sbatch. It is not interrupted when this process is asked to stop.
SubmitOutcome submit(const std::vector<std::string>& options, const std::string& script);

// The rows of these jobs (17, or 17_3) of a cluster (empty: the default one) in all states;
// nothing when the command fails, which says nothing about the jobs.
std::optional<JobRows> ask_queue(const std::vector<std::string>& ids, const std::string& cluster);
std::optional<JobRows> ask_accounting(const std::vector<std::string>& ids,
                                      const std::string& cluster);

// The jobs that carry this name, by squeue and sacct, for a person to compare.
std::vector<std::string> ids_of_name(const std::string& name);

// The partitions that sinfo lists; none when it fails or is not installed.
std::vector<Partition> ask_partitions();

struct PartitionLimit {
  std::optional<int64_t> seconds;  // nothing: none, or not known
  std::string partition;
  bool known = false;
};

// The limit of the partition that the jobs of a site go to, as far as it is known beforehand.
PartitionLimit partition_limit(const Site& site);

}  // namespace saddle::cluster
