// The directory of an analysis:
//
//   lock                   held by the process that writes
//   manifest.json          format, identity (analysis_identity.h), the run, checkpoints with all
//                          their names, and for each case where, when and how long it was measured
//   CHECKPOINT.CASE.json   everything measured in one case (case_json.h), with its identity; no
//                          times, so that a repeated measurement gives the same bytes
//   summary.csv            one line per case
//
// Each file is written whole or not at all. The case files determine which cases are finished;
// manifest.json and summary.csv are rewritten from them after each case.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/analysis_checkpoints.h"
#include "analysis/results_files.h"
#include "base/files.h"
#include "base/json.h"
#include "curvature/case_result.h"
#include "curvature/data_case.h"

namespace saddle::analysis {

class ResultsDirectory {
 public:
  // Creates the directory, locks it, removes unfinished files, and writes the manifest. `run`: the
  // directory of the run.
  // Errors: kIo if another process holds it; kConfig if it holds other files, or finished cases of
  // another identity; kData if its files are damaged.
  ResultsDirectory(const Path& path, const Path& run, Json identity);

  const Path& path() const { return path_; }

  // Whether a case is finished for the present weights of the checkpoint; adds to its file what it
  // lacks about the checkpoint (add_what_is_new()). Errors: kConfig if the file was made with other
  // settings, or under this name from other weights.
  bool has(const Checkpoint& checkpoint, const curvature::DataCase& data);

  // Writes a finished case. `about`: machine and threads, for the manifest.
  void write(const Checkpoint& checkpoint, const curvature::DataCase& data,
             const curvature::CaseResult& result, double seconds, const Json& about);

  // Copies the finished cases of `other` that are missing here, with the same bytes and their
  // records in the other's manifest. Errors: kConfig if `other` has another identity; kIo.
  void take(const ResultsDirectory& other);

  // The contents of every case file, in the order of tokens, names and cases.
  static Json cases(const Path& path);

 private:
  // The case file of these weights; null if there is none.
  CaseFile* find(const Checkpoint& checkpoint, curvature::DataCaseKind kind);
  Json case_identity(const Checkpoint& checkpoint, const curvature::DataCase& data) const;
  void write_tables();

  Path path_;
  Path run_;
  Json identity_;
  FileLock lock_;
  std::vector<CaseFile> files_;
  Json records_ = Json::object();  // of the cases, by file name: finished, seconds, machine
};

}  // namespace saddle::analysis
