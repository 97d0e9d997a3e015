#include "cluster/job_state.h"

#include <array>
#include <utility>

namespace saddle::cluster {
namespace {

using Names = std::pair<JobState, std::string_view>;

constexpr std::array<Names, 7> kNames = {{{JobState::kUnknown, "unknown"},
                                          {JobState::kPending, "pending"},
                                          {JobState::kRunning, "running"},
                                          {JobState::kSucceeded, "succeeded"},
                                          {JobState::kFailed, "failed"},
                                          {JobState::kCancelled, "cancelled"},
                                          {JobState::kTimedOut, "timed out"}}};

// squeue(1) and sacct(1), "JOB STATE CODES".
constexpr std::array<Names, 25> kSlurmWords = {
    {{JobState::kPending, "PENDING"},       {JobState::kPending, "CONFIGURING"},
     {JobState::kPending, "REQUEUED"},      {JobState::kPending, "REQUEUE_FED"},
     {JobState::kPending, "REQUEUE_HOLD"},  {JobState::kPending, "SPECIAL_EXIT"},
     {JobState::kPending, "RESV_DEL_HOLD"}, {JobState::kRunning, "RUNNING"},
     {JobState::kRunning, "COMPLETING"},    {JobState::kRunning, "STAGE_OUT"},
     {JobState::kRunning, "SIGNALING"},     {JobState::kRunning, "SUSPENDED"},
     {JobState::kRunning, "STOPPED"},       {JobState::kRunning, "RESIZING"},
     {JobState::kSucceeded, "COMPLETED"},   {JobState::kFailed, "FAILED"},
     {JobState::kFailed, "NODE_FAIL"},      {JobState::kFailed, "OUT_OF_MEMORY"},
     {JobState::kFailed, "BOOT_FAIL"},      {JobState::kFailed, "LAUNCH_FAILED"},
     {JobState::kFailed, "RECONFIG_FAIL"},  {JobState::kFailed, "PREEMPTED"},
     {JobState::kCancelled, "CANCELLED"},   {JobState::kTimedOut, "TIMEOUT"},
     {JobState::kTimedOut, "DEADLINE"}}};

}  // namespace

std::string_view job_state_name(JobState state) {
  for (const auto& [known, name] : kNames) {
    if (known == state) return name;
  }
  return "unknown";
}

JobState job_state_of_name(std::string_view name) {
  for (const auto& [state, known] : kNames) {
    if (known == name) return state;
  }
  return JobState::kUnknown;
}

JobState state_of_slurm(std::string_view word) {
  if (word.starts_with("CANCELLED by ")) return JobState::kCancelled;
  for (const auto& [state, known] : kSlurmWords) {
    if (known == word) return state;
  }
  return JobState::kUnknown;
}

bool is_final(JobState state) {
  return state == JobState::kSucceeded || ended_in_failure(state);
}

bool ended_in_failure(JobState state) {
  return state == JobState::kFailed || state == JobState::kCancelled ||
         state == JobState::kTimedOut;
}

}  // namespace saddle::cluster
