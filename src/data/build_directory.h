// A directory that appears under its name only when it is complete.
#pragma once

#include "base/files.h"
#include "base/log.h"

namespace saddle::data {

// Unlike StagedDirectory it refuses a second writer before the work instead of after it: making a
// cache takes hours.
//
// Owns the lock that excludes a second writer of `target` (".NAME.lock" next to it). After
// create(), it also owns a private directory next to it (".NAME.building-NUMBER"). The destructor
// removes that directory unless it was published.
class BuildDirectory {
 public:
  // Creates the parent of `target` if it is missing and takes the lock; an Error if another process
  // holds it. A link stands for the directory that it points to.
  explicit BuildDirectory(const Path& target);
  BuildDirectory(const BuildDirectory&) = delete;
  BuildDirectory& operator=(const BuildDirectory&) = delete;
  ~BuildDirectory();

  // Creates the private directory. First removes those of killed writers, with a line in `log`: the
  // lock shows that nobody is writing to them any more. An Error of kind kData when `target`
  // already exists and is not an empty directory, of kind kConfig when a file system is mounted
  // there.
  const Path& create(Log* log);

  // Renames the private directory to `target`, and flushes both directories.
  void publish();

 private:
  void remove_leftovers(Log* log) const;
  std::string prefix() const;

  Path target_;
  FileLock lock_;
  Path building_;
};

}  // namespace saddle::data
