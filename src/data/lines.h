// The lines of a text file, compressed or plain.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/files.h"

namespace saddle::data {

// The ending of the name if it is that of an unsupported compression (.zst, .xz, ...); otherwise
// empty.
std::string other_compression(const Path& path);

enum class Compression { kByName, kGzip };  // kByName: gzip when the name ends in .gz

// The lines of a file, plain or gzip (one or several members, zero bytes after the last).
class LineReader {
 public:
  // An Error of kind kData, by name, for a file of another compression.
  explicit LineReader(const Path& path, Compression compression = Compression::kByName);
  LineReader(LineReader&&) noexcept;
  ~LineReader();

  // The next line without its newline; false at the end. An Error of kind kData when the gzip data
  // is damaged, ends early, or continues after zero bytes, with the file and the last complete
  // line.
  bool next(std::string* line);

  int64_t line() const;        // the number of the last line read, from 1
  int64_t bytes_read() const;  // of the file as stored on disk
  int64_t zero_bytes() const;  // ignored so far after the last gzip member

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace saddle::data
