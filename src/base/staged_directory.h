// A directory that appears under its name complete or not at all, for results of several files.
#pragma once

#include <vector>

#include "base/files.h"

namespace saddle {

// Construction makes a private directory ".NAME.staged-N" next to the target; publish() renames it,
// and the destructor removes it if it was not published. The next writer of the same target removes
// one that a killed process left: a writer holds a lock on its own.
class StagedDirectory {
 public:
  // Creates missing parents of `target`, and removes them again if nothing is published.
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

  // Removes the parents that were created, if they are empty, unless something was published.
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
