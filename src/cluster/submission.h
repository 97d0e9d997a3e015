// submission.json: a record of what was submitted to Slurm, so that nothing is submitted twice. It
// is written before and after every sbatch. An attempt without a job id means that sbatch was
// called but its answer was not saved: only a person can say whether there is such a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "cluster/evidence.h"
#include "cluster/site.h"

namespace saddle::cluster {

inline constexpr const char* kSubmissionFormat = "saddle submission 1";
inline constexpr const char* kSubmissionFile = "submission.json";

struct Attempt {
  int64_t number = 1;     // from 1
  std::string name;       // of the job in Slurm, unique to this attempt
  std::string submitted;  // when sbatch was called, UTC
  std::string id;         // 17, or 17_3 of a job array; empty: not known
  std::string cluster;    // empty: the default one
  Path script, log, end_note;
  std::string refusal;  // sbatch's message if it certainly refused: there is no job
  Judgement found;      // as last seen
  std::string changed;  // when that state was first seen, UTC

  bool lost() const { return id.empty() && refusal.empty(); }
};

// What one job, or one task of a job array, does.
struct Work {
  std::string title;                 // for people
  std::vector<std::string> command;  // the program and its words
  Path results;                      // the directory that it writes
  int64_t wall_seconds = 0;
  Json about = Json::object();
  std::vector<Attempt> attempts;

  const Attempt* last() const { return attempts.empty() ? nullptr : &attempts.back(); }
  bool lost() const { return last() != nullptr && last()->lost(); }
  // Not submitted yet, refused, or ended in failure.
  bool due() const;
  // There is a job, and it has not ended as far as is known.
  bool open() const;
  bool succeeded() const;
};

struct Submission {
  std::string token;    // in the names of its jobs
  bool array = false;   // the work is tasks of job arrays, otherwise separate jobs
  int64_t at_once = 0;  // tasks of an array; 0: no limit
  Path directory;       // where commands run
  Site site;
  Json about = Json::object();  // what it is for; with "source", what the program was built from
  std::vector<Work> work;
};

Json to_json(const Submission& submission);

// Errors: kIo; kData for a file of another format or a damaged one.
Submission read_submission(const Path& file);
void write_submission(const Path& file, const Submission& submission);

// A new token: 8 hexadecimal digits made from the directory, the time and the process.
std::string new_token(const Path& directory);

// What this program was built from; for a changed or unknown tree, with the SHA-256 of its file.
Json source_description();

// Errors: kConfig, with what differs, when `submission`, read from `file`, was made by another
// program.
void check_same_source(const Submission& submission, const Path& file);

// Call it before submitting work that is due. Errors: kConfig when the command is not the program
// that is running: its file was replaced or removed.
void check_program(const Submission& submission, const Path& file);

// A row for each piece of work: its number and title, the last attempt, job, time limit, state and
// since when. The logs follow below the rows.
std::string submission_table(const Submission& submission);

}  // namespace saddle::cluster
