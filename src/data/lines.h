// The lines of a text file, compressed or plain.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/files.h"

namespace saddle::data {

// The lines of a file, uncompressed when its name ends in .gz (one or several gzip members).
class LineReader {
 public:
  explicit LineReader(const Path& path);
  LineReader(LineReader&&) noexcept;
  ~LineReader();

  // The next line without its newline; false at the end. An Error of kind kData when the gzip data
  // is damaged or ends early, with the file and the last line that was whole.
  bool next(std::string* line);

  int64_t line() const;        // the number of the last line read, from 1
  int64_t bytes_read() const;  // of the file as it lies on the disk

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace saddle::data
