// The files that the documents of a split come from, local or remote.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/cache.h"

namespace saddle::data {

// Files in the order in which their documents are taken. Each is downloaded only when it
// is reached. Members may be called from several threads.
class FileSequence {
 public:
  virtual ~FileSequence() = default;

  virtual int64_t count() const = 0;

  // For messages: the path, or the name of a file that may be remote.
  virtual std::string name(int64_t index) const = 0;

  // The path of file `index`, which is local and complete when this returns.
  virtual Path fetch(int64_t index) = 0;

  // The total size of the files, estimated where unknown; 0 when nothing is known.
  virtual int64_t total_bytes() const = 0;

  // Whether file `index` is the one that `record` describes. A file of a published dataset is
  // recognized by its name, since the revision determines the rest; other files are read.
  virtual bool matches(int64_t index, const SourceRecord& record) const = 0;

  // Ends a fetch() in progress in another thread with an Error, and all later ones.
  virtual void cancel() {}
};

// Files on this machine. An Error of kind kIo if one cannot be read.
class LocalFiles : public FileSequence {
 public:
  explicit LocalFiles(std::vector<Path> paths);

  int64_t count() const override { return static_cast<int64_t>(paths_.size()); }
  std::string name(int64_t index) const override {
    return paths_.at(static_cast<size_t>(index)).string();
  }
  Path fetch(int64_t index) override { return paths_.at(static_cast<size_t>(index)); }
  int64_t total_bytes() const override { return total_bytes_; }
  bool matches(int64_t index, const SourceRecord& record) const override;

 private:
  std::vector<Path> paths_;
  int64_t total_bytes_ = 0;
};

// Name, size and SHA-256 of a file of documents.
SourceRecord describe_source(const Path& path);

}  // namespace saddle::data
