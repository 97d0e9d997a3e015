#include "cluster/submission.h"

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/process.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/this_program.h"
#include "config/recipe.h"

namespace saddle::cluster {
namespace {

Json to_json(const Attempt& attempt) {
  return {{"number", attempt.number},
          {"name", attempt.name},
          {"submitted", attempt.submitted},
          {"job", attempt.id.empty() ? Json() : Json(attempt.id)},
          {"cluster", attempt.cluster},
          {"script", attempt.script.string()},
          {"log", attempt.log.string()},
          {"end_note", attempt.end_note.string()},
          {"refusal", attempt.refusal},
          {"state", job_state_name(attempt.found.state)},
          {"said_by", attempt.found.source},
          {"detail", attempt.found.detail},
          {"exit_code", attempt.found.exit_code},
          {"changed", attempt.changed}};
}

Attempt attempt_of(const Json& json) {
  Attempt attempt;
  attempt.number = json_integer(json.at("number"));
  attempt.name = json.at("name").get<std::string>();
  attempt.submitted = json.at("submitted").get<std::string>();
  if (!json.at("job").is_null()) attempt.id = json.at("job").get<std::string>();
  attempt.cluster = json.at("cluster").get<std::string>();
  attempt.script = json.at("script").get<std::string>();
  attempt.log = json.at("log").get<std::string>();
  attempt.end_note = json.at("end_note").get<std::string>();
  attempt.refusal = json.at("refusal").get<std::string>();
  attempt.found = {job_state_of_name(json.at("state").get<std::string>()),
                   json.at("said_by").get<std::string>(), json.at("detail").get<std::string>(),
                   json.at("exit_code").get<std::string>()};
  attempt.changed = json.at("changed").get<std::string>();
  return attempt;
}

Work work_of(const Json& json) {
  Work work;
  work.title = json.at("title").get<std::string>();
  work.command = json.at("command").get<std::vector<std::string>>();
  work.results = json.at("results").get<std::string>();
  work.wall_seconds = json_integer(json.at("wall_seconds"));
  work.about = json.at("about");
  for (const Json& attempt : json.at("attempts")) work.attempts.push_back(attempt_of(attempt));
  return work;
}

// What Slurm said about it, or why nothing is known.
std::string state_text(const Work& work) {
  const Attempt* attempt = work.last();
  if (attempt == nullptr) return "not submitted";
  if (!attempt->refusal.empty()) return "refused: " + attempt->refusal;
  if (attempt->lost()) return "lost: sbatch was called, but its answer is not known";
  std::string text(job_state_name(attempt->found.state));
  if (!attempt->found.detail.empty()) text += fmt::format(" ({})", attempt->found.detail);
  return text;
}

}  // namespace

bool Work::due() const {
  return last() == nullptr || !last()->refusal.empty() ||
         (!last()->lost() && ended_in_failure(last()->found.state));
}

bool Work::open() const {
  return last() != nullptr && !last()->id.empty() && !is_final(last()->found.state);
}

bool Work::succeeded() const {
  return last() != nullptr && last()->found.state == JobState::kSucceeded;
}

Json to_json(const Submission& submission) {
  Json work = Json::array();
  for (const Work& one : submission.work) {
    Json attempts = Json::array();
    for (const Attempt& attempt : one.attempts) attempts.push_back(to_json(attempt));
    work.push_back({{"title", one.title},
                    {"command", one.command},
                    {"results", one.results.string()},
                    {"wall_seconds", one.wall_seconds},
                    {"about", one.about},
                    {"attempts", attempts}});
  }
  return {{"format", kSubmissionFormat},
          {"token", submission.token},
          {"array", submission.array},
          {"at_once", submission.at_once},
          {"directory", submission.directory.string()},
          {"site", to_json(submission.site)},
          {"about", submission.about},
          {"work", work}};
}

Submission read_submission(const Path& file) {
  const Json json = read_json(file);
  if (!json.is_object() || json.value("format", Json()) != kSubmissionFormat) {
    fail(ErrorKind::kData, "{}: a file of the format '{}' was expected", file.string(),
         kSubmissionFormat);
  }
  try {
    Submission submission;
    submission.token = json.at("token").get<std::string>();
    submission.array = json.at("array").get<bool>();
    submission.at_once = json_integer(json.at("at_once"));
    submission.directory = json.at("directory").get<std::string>();
    submission.site = site_of_json(json.at("site"), file.string());
    submission.about = json.at("about");
    for (const Json& work : json.at("work")) submission.work.push_back(work_of(work));
    return submission;
  } catch (const Json::exception& error) {
    fail(ErrorKind::kData, "{}: the record of the submission is damaged: {}", file.string(),
         error.what());
  }
}

void write_submission(const Path& file, const Submission& submission) {
  write_exact_json(file, to_json(submission));  // its paths and commands are used again
}

std::string new_token(const Path& directory) {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return sha256_hex(fmt::format("{}\n{}\n{}", std::filesystem::absolute(directory).string(), now,
                                this_process()))
      .substr(0, 8);
}

void check_same_source(const Submission& submission, const Path& file) {
  const Json now = source_description();
  const Json there = submission.about.value("source", Json::object());
  std::string list;
  for (const std::string& key : config::differing_fields(there, now)) {
    list += fmt::format("{}{} (there {}, now {})", list.empty() ? "" : ", ", key,
                        there.value(key, Json()).dump(), now.value(key, Json()).dump());
  }
  if (list.empty()) return;
  fail(ErrorKind::kConfig,
       "'{}' was submitted by another program: {}; use that program, or choose a new --output",
       file.string(), list);
}

void check_program(const Submission& submission, const Path& file) {
  std::set<std::string> checked;
  for (const Work& work : submission.work) {
    if (!work.due() || work.command.empty() || !checked.insert(work.command[0]).second) continue;
    if (is_this_program(work.command[0])) continue;
    fail(ErrorKind::kConfig,
         "the jobs of '{}' would run '{}', which is not the program running now: it was replaced "
         "or removed; put that program back, or choose a new --output",
         file.string(), work.command[0]);
  }
}

Json source_description() {
  Json source = build_description();
  // The revision does not identify the contents of a changed tree.
  if (source["changed"] != false) source["program"] = sha256_file(kRunningProgram);
  return source;
}

std::string submission_table(const Submission& submission) {
  TextTable table;
  table.add({"work", "attempt", "job", "limit", "since", "state"});
  for (size_t i = 0; i < submission.work.size(); ++i) {
    const Work& work = submission.work[i];
    const Attempt* attempt = work.last();
    table.add({fmt::format("{} {}", i, work.title),
               attempt == nullptr ? "-" : std::to_string(attempt->number),
               attempt == nullptr || attempt->id.empty() ? "-" : attempt->id,
               work.wall_seconds == 0 ? "-" : slurm_time(work.wall_seconds),
               attempt == nullptr ? "-" : attempt->changed, state_text(work)});
  }
  std::string text = table.text();
  for (const Work& work : submission.work) {
    const Attempt* attempt = work.last();
    if (attempt != nullptr && !attempt->id.empty()) {
      text += fmt::format("  log of {}: {}\n", attempt->id, printable(attempt->log.string()));
    }
  }
  return text;
}

}  // namespace saddle::cluster
