// The safetensors container: 8 bytes of header length, a JSON header with each tensor's type,
// shape and byte range, then the bytes. Nothing in such a file is executable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace saddle::model {

struct TensorEntry {
  std::string name;
  std::string dtype;           // "F32", "F64", "I64", ...
  std::vector<int64_t> shape;  // row-major
  int64_t offset = 0;          // of its bytes in the file
  int64_t bytes = 0;
};

// The bytes of one element of a dtype. Error: kData for an unknown dtype.
int64_t element_bytes(std::string_view dtype);

// A safetensors file opened for reading. Opening it checks the whole header: ranges must be inside
// the file, match the shapes, and neither overlap nor leave gaps. Error: kData, naming the file and
// the tensor.
class SafetensorsReader {
 public:
  explicit SafetensorsReader(const Path& path);

  const Path& path() const { return file_.path(); }
  const std::vector<TensorEntry>& entries() const { return entries_; }  // in file order
  const TensorEntry* find(std::string_view name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  // Reads `count` elements of a tensor, from element `first` on, in their stored type.
  void read(const TensorEntry& entry, int64_t first, int64_t count, void* out) const;

 private:
  InputFile file_;
  std::vector<TensorEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

// Writes a safetensors file whole or not at all. The constructor computes the entries' offsets and
// bytes; then call write() for the bytes of all tensors in order, in pieces of any size, then
// commit().
class SafetensorsWriter {
 public:
  SafetensorsWriter(const Path& path, std::vector<TensorEntry> entries,
                    const std::map<std::string, std::string>& metadata);

  const Path& path() const { return path_; }
  void write(const void* bytes, size_t count);
  // Flushes and gives the file its name. Error: kInternal if too few or too many bytes were
  // written.
  void commit();

 private:
  Path path_;
  AtomicFile file_;
  int64_t expected_ = 0;  // total bytes
};

}  // namespace saddle::model
