// Makes and locks the directory of a run, and writes its records.
#pragma once

#include <string>

#include "base/files.h"
#include "base/json.h"
#include "config/settings.h"

namespace saddle::train {

class RunDirectory {
 public:
  // Makes the directory, locks it for this process, and removes the unfinished files of processes
  // that were killed.
  // Errors: kIo when it cannot be made or written, or when another process has locked it.
  explicit RunDirectory(const Path& path);

  const Path& path() const { return path_; }
  Path file(const char* name) const { return path_ / name; }
  Path metrics() const { return file("metrics.jsonl"); }

  // The name of a file showing that the directory already contains a run (its settings, metrics or
  // checkpoints), or empty.
  std::string used_by() const;

  // Writes resolved.yaml and environment.json. `resumed_from`: a path, or empty; `data_identity`:
  // that of the token cache.
  void write_records(const config::Settings& settings, int threads, const Path& resumed_from,
                     const std::string& data_identity) const;

 private:
  Path path_;
  FileLock lock_;
};

}  // namespace saddle::train
