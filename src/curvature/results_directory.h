// The directory of an analysis:
//
//   lock                   held by the process that writes
//   manifest.json          format, identity (analysis_identity.h), the run, checkpoints with all
//                          their names, and of each case where, when and how long it was measured
//   CHECKPOINT.CASE.json   everything measured in one case (case_json.h), with its identity; no
//                          times, so that a repeated measurement gives the same bytes
//   summary.csv            one line a case
//
// Each file is written whole or not at all. The case files tell what is finished; manifest.json and
// summary.csv are made anew from them after each case.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "curvature/analysis_checkpoints.h"
#include "curvature/case_result.h"
#include "curvature/data_case.h"

namespace saddle::curvature {

inline constexpr const char* kAnalysisFormat = "saddle analysis 1";

struct CaseFile {
  Path path;
  Json content;
};

class ResultsDirectory {
 public:
  // Makes the directory, locks it, removes unfinished files, and writes the manifest. `run`: the
  // directory of the run.
  // Errors: kIo when another process holds it; kConfig when it holds other files, or finished cases
  // of another identity; kData when its files are damaged.
  ResultsDirectory(const Path& path, const Path& run, Json identity);

  const Path& path() const { return path_; }

  // Whether a case is finished, and of the weights that the checkpoint has now; what its file does
  // not know of the checkpoint is added to it (add_what_is_new()). Errors: kConfig when the file
  // was made with other settings, or under this name of other weights.
  bool has(const Checkpoint& checkpoint, const DataCase& data);

  // Writes a finished case. `about`: machine and threads, for the manifest.
  void write(const Checkpoint& checkpoint, const DataCase& data, const CaseResult& result,
             double seconds, const Json& about);

  // Takes over the finished cases of `other`, which must be of the same identity, that are not
  // here: the same bytes, and what the other's manifest notes of them. Errors: kConfig for another
  // identity; kIo.
  void take(const ResultsDirectory& other);

  // The content of every case file, in the order of tokens, names and cases.
  static Json cases(const Path& path);

 private:
  // The content of the case file of these weights; null when there is none.
  CaseFile* find(const Checkpoint& checkpoint, DataCaseKind kind);
  Json case_identity(const Checkpoint& checkpoint, const DataCase& data) const;
  void write_tables();

  Path path_;
  Path run_;
  Json identity_;
  FileLock lock_;
  std::vector<CaseFile> files_;
  Json records_ = Json::object();  // of the cases, by file name: finished, seconds, machine
};

}  // namespace saddle::curvature
