#include "cluster/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/environment.h"
#include "base/error.h"
#include "base/process.h"

namespace saddle::cluster {
namespace {

constexpr double kQuerySeconds = 60;
constexpr double kSubmitSeconds = 300;

// The output of a command that succeeded in time.
std::optional<std::string> output_of(const std::vector<std::string>& command) {
  try {
    const ProcessResult result = run_process(command, {.time_limit_seconds = kQuerySeconds});
    if (!result.succeeded()) return std::nullopt;
    return result.output;
  } catch (const Error&) {
    return std::nullopt;  // it is not on this machine: treated like a failure
  }
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ","));
}

void add_cluster(std::vector<std::string>& command, const std::string& cluster) {
  if (!cluster.empty()) command.push_back("--clusters=" + cluster);
}

std::vector<std::string> queue_command(const std::string& which, const std::string& cluster) {
  std::vector<std::string> command = {"squeue", "--noheader", "--array",    "--states=all",
                                      which,    "--format",   kSqueueFormat};
  add_cluster(command, cluster);
  return command;
}

std::optional<JobRows> ask_queue_where(const std::string& which, const std::string& cluster) {
  const auto output = output_of(queue_command(which, cluster));
  if (!output) return std::nullopt;
  return parse_squeue(*output);
}

// squeue reports one forgotten id alone as an error although the queue answers: no rows then.
std::optional<JobRows> ask_queue_for(const std::string& id, const std::string& cluster) {
  try {
    const ProcessResult result =
        run_process(queue_command("--jobs=" + id, cluster), {.time_limit_seconds = kQuerySeconds});
    if (result.succeeded()) return parse_squeue(result.output);
    if (result.errors.find("Invalid job id") != std::string::npos) return JobRows{};
  } catch (const Error&) {
    // As output_of().
  }
  return std::nullopt;
}

std::optional<JobRows> ask_accounting_where(const std::vector<std::string>& which,
                                            const std::string& cluster) {
  std::vector<std::string> command = {"sacct", "--noheader", "--parsable", "--allocations",
                                      fmt::format("--format={}", kSacctFormat)};
  command.insert(command.end(), which.begin(), which.end());
  add_cluster(command, cluster);
  const auto output = output_of(command);
  if (!output) return std::nullopt;
  return parse_sacct(*output);
}

}  // namespace

bool is_refusal(const std::string& message) {
  if (message.find("Batch job submission failed") == std::string::npos) {
    // Refusals of the command line or the script, before anything was sent.
    return message.find("sbatch: error: Unable to open file") != std::string::npos ||
           message.find("sbatch: unrecognized option") != std::string::npos ||
           message.find("invalid option") != std::string::npos;
  }
  for (const char* unclear :
       {"timed out", "Unable to contact", "onnection", "Transport", "Zero Bytes", "ommunication",
        "eceive", "send", "Unexpected message", "rotocol", "uthentication", "ersion"}) {
    if (message.find(unclear) != std::string::npos) return false;
  }
  return true;
}

void check_slurm_answers() {
  const ProcessResult sbatch =
      run_process({"sbatch", "--version"}, {.time_limit_seconds = kQuerySeconds});
  if (!sbatch.succeeded()) {
    fail(ErrorKind::kIo, "'sbatch --version' does not run: {}", sbatch.last_words());
  }
  const ProcessResult squeue =
      run_process({"squeue", "--noheader", "--me"}, {.time_limit_seconds = kQuerySeconds});
  if (!squeue.succeeded()) {
    fail(ErrorKind::kIo, "Slurm does not answer ('squeue --me'): {}", squeue.last_words());
  }
}

SubmitOutcome submit(const std::vector<std::string>& options, const std::string& script) {
  std::vector<std::string> command = {"sbatch", "--parsable"};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back(script);
  const ProcessResult result = run_process(command, {.time_limit_seconds = kSubmitSeconds});
  SubmitOutcome outcome;
  if (result.succeeded()) outcome.job = parse_sbatch(result.output);
  if (outcome.job) return outcome;
  outcome.message = result.timed_out ? fmt::format("sbatch did not end in {:g} s", kSubmitSeconds)
                                     : fmt::format("sbatch ended with {} ({})", result.exit_code,
                                                   result.last_words());
  outcome.refused = result.exit_code > 0 && is_refusal(result.errors);
  return outcome;
}

std::optional<JobRows> ask_queue(const std::vector<std::string>& ids, const std::string& cluster) {
  if (const auto rows = ask_queue_where("--jobs=" + joined(ids), cluster)) return rows;
  JobRows all;
  for (const std::string& id : ids) {
    const auto some = ask_queue_for(id, cluster);
    if (!some) return std::nullopt;
    all.insert(all.end(), some->begin(), some->end());
  }
  return all;
}

std::optional<JobRows> ask_accounting(const std::vector<std::string>& ids,
                                      const std::string& cluster) {
  return ask_accounting_where({"--jobs=" + joined(ids)}, cluster);
}

std::vector<std::string> ids_of_name(const std::string& name) {
  std::set<std::string> ids;
  for (const auto& rows :
       {ask_queue_where("--name=" + name, ""),
        ask_accounting_where({"--name=" + name, "--starttime=now-90days"}, "")}) {
    for (const JobRow& row : rows.value_or(JobRows{})) {
      if (row.name == name) ids.insert(row.id);
    }
  }
  return {ids.begin(), ids.end()};
}

std::vector<Partition> ask_partitions() {
  const auto output = output_of({"sinfo", "--noheader", "--format", kSinfoFormat});
  return output ? parse_sinfo(*output) : std::vector<Partition>{};
}

PartitionLimit partition_limit(const Site& site) {
  std::string name = environment_variable("SBATCH_PARTITION");
  if (name.empty()) name = site.partition;
  for (const Partition& partition : ask_partitions()) {
    if (name.empty() ? partition.standard : partition.name == name) {
      return {partition.limit_seconds, partition.name, true};
    }
  }
  return {std::nullopt, name, false};
}

}  // namespace saddle::cluster
