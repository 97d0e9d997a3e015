// The output of Slurm commands, and the files that configure its use.
#include <fmt/format.h>

#include "cluster/evidence.h"
#include "cluster/site.h"
#include "cluster/slurm_output.h"
#include "cluster/submission.h"
#include "fuzz/targets.h"

namespace saddle::fuzz {
namespace {

void check_seconds(const std::optional<int64_t>& seconds) {
  if (!seconds) return;
  require(*seconds >= 0, "a time below zero");
  require(cluster::parse_seconds(cluster::slurm_time(*seconds)) == seconds,
          "a time does not read back as it was written");
}

}  // namespace

void slurm(std::string_view bytes, Scratch&) {
  accepts([&] {
    if (const auto job = cluster::parse_sbatch(bytes)) {
      const std::string line =
          job->cluster.empty() ? job->id : fmt::format("{};{}", job->id, job->cluster);
      const auto again = cluster::parse_sbatch(line);
      require(again && again->id == job->id && again->cluster == job->cluster,
              "the id of a job does not read back");
    }
    cluster::Evidence evidence;
    evidence.queue = cluster::parse_squeue(bytes);
    evidence.accounting = cluster::parse_sacct(bytes);
    evidence.note = cluster::parse_end_note(bytes);
    for (const auto& rows : {*evidence.queue, *evidence.accounting}) {
      for (const cluster::JobRow& row : rows) cluster::judge(row.id, row.name, evidence);
    }
    if (evidence.note) cluster::judge(evidence.note->id, "a name", evidence);
    for (const auto& partition : cluster::parse_sinfo(bytes)) {
      check_seconds(partition.limit_seconds);
    }
    check_seconds(cluster::parse_seconds(bytes));
  });
}

void site(std::string_view bytes, Scratch&) {
  cluster::Site site;
  const auto unset = [](const char*) { return std::string(); };
  if (!accepts([&] { site = cluster::parse_site(bytes, "slurm.yaml", unset); })) return;
  accepts([&] { cluster::site_options(site); });
  const Json written = cluster::to_json(site);
  require(cluster::to_json(cluster::site_of_json(written, "written")) == written,
          "a site does not read back as it was written");
}

void submission(std::string_view bytes, Scratch& scratch) {
  const Path path = scratch.write("submission.json", bytes);
  cluster::Submission submission;
  if (!accepts([&] { submission = cluster::read_submission(path); })) return;
  cluster::submission_table(submission);
  const Json written = cluster::to_json(submission);
  scratch.write("submission.json", written.dump());
  require(cluster::to_json(cluster::read_submission(path)) == written,
          "a submission does not read back as it was written");
}

}  // namespace saddle::fuzz
