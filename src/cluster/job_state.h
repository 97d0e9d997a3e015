// What is known about a Slurm job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace saddle::cluster {

enum class JobState {
  kUnknown,  // no trustworthy information: neither success nor failure
  kPending,
  kRunning,
  kSucceeded,
  kFailed,
  kCancelled,
  kTimedOut,
};

// "unknown", "pending", "running", "succeeded", "failed", "cancelled", "timed out".
std::string_view job_state_name(JobState state);
// The state of that name; kUnknown for any other text.
JobState job_state_of_name(std::string_view name);

// The state for a word of squeue or sacct, also "CANCELLED by 1000"; kUnknown for words that are
// not known, and for those that say nothing about the work (REVOKED).
JobState state_of_slurm(std::string_view word);

// Nothing will change unless it is submitted again.
bool is_final(JobState state);
// Final, and not succeeded.
bool ended_in_failure(JobState state);

}  // namespace saddle::cluster
