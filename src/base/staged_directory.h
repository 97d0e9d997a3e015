// A directory that appears under its name whole or not at all, for results of several files.
#pragma once

#include <vector>

#include "base/files.h"

namespace saddle {

// From construction on a private directory ".NAME.staged-N" beside the target; publish() renames
// it, and the destructor removes it when it was not published. One that a killed process left is
// removed by the next writer of the same target: a writer holds a lock on its own.
class StagedDirectory {
 public:
  // Makes the parents of `target` that are missing, and removes them again if nothing is published.
  // `target` may be an empty directory, or a link to one, which stays a link; an Error of kind
  // kConfig when it is anything else that exists. Other failures: kIo.
  explicit StagedDirectory(const Path& target);
  StagedDirectory(const StagedDirectory&) = delete;
  StagedDirectory& operator=(const StagedDirectory&) = delete;
  ~StagedDirectory();

  // Where to write until publish(). Files in it must be flushed by whoever writes them.
  const Path& path() const { return staged_; }

  // Flushes the directory, renames it to the target, and flushes the target's parent.
  void publish();

 private:
  void remove_leftovers() const;
  std::string prefix() const;

  // Removes directories that were missing, when they are empty, unless they are to be kept.
  struct MissingParents {
    explicit MissingParents(Path directory);
    ~MissingParents();
    std::vector<Path> directories;  // the innermost first
  };

  Path target_;
  MissingParents missing_;
  Path staged_;
  int descriptor_ = -1;  // of the private directory, locked
};

}  // namespace saddle
