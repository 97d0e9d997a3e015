// A file that is being downloaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"

namespace saddle::data {

// What the bytes of a part belong to.
struct PartOrigin {
  std::string url;
  std::string etag;              // of the answer; empty if it had none
  std::optional<int64_t> bytes;  // of the whole file
  std::string sha256;            // of the whole file, as far as known
};

// The first bytes of a file are stored next to its destination as ".NAME.part". ".NAME.part.json"
// records what they belong to, so that a later process can continue. The caller holds a lock on the
// destination. Failures are those of base/files.h.
class PartFile {
 public:
  // Opens what an earlier process left. It is emptied if no record says what it belongs to.
  explicit PartFile(const Path& destination);
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile();

  const Path& path() const { return part_; }
  int64_t size() const { return size_; }
  const PartOrigin& origin() const { return origin_; }

  void empty();
  // Empties it and records what the bytes that follow belong to.
  void restart(const PartOrigin& origin);
  void append(std::string_view bytes);
  // Flushes it to disk and renames it to the destination.
  void publish();

  // Removes what an earlier process left next to a destination that is complete.
  static void remove_leftovers(const Path& destination);

 private:
  bool read_origin();

  Path destination_;
  Path part_;
  Path record_;
  PartOrigin origin_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace saddle::data
