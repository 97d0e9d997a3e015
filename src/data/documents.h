// Files of documents in the form of C4: JSON lines {"text": ...}, gzip-compressed or plain.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/file_sequence.h"
#include "data/lines.h"

namespace saddle::data {

// A line of one of the files.
struct DocumentPlace {
  int64_t file = 0;  // its index
  int64_t line = 0;  // from 1
};

// What has been read so far.
struct ReadingState {
  int64_t files = 0;               // opened
  int64_t documents = 0;           // with text
  int64_t empty_text = 0;          // documents left out because their text is ""
  int64_t no_text = 0;             // documents left out because they have no text, or null
  int64_t blank_lines = 0;         // lines of nothing but white space, which are not documents
  int64_t zero_bytes = 0;          // after the gzip data of files (LineReader::zero_bytes())
  int64_t bytes = 0;               // of the files as stored on disk
  DocumentPlace first_empty_text;  // of the documents left out
  DocumentPlace first_no_text;
};

// "3 blank lines and 512 zero bytes after gzip data were ignored"; empty if there were none.
std::string passed_over_text(int64_t blank_lines, int64_t zero_bytes);

// The documents of several files, one after another.
class DocumentReader {
 public:
  explicit DocumentReader(std::shared_ptr<FileSequence> files);
  explicit DocumentReader(std::vector<Path> files);

  // The text of the next document; nothing at the end. Documents without text are left out, blank
  // lines ignored, and both are counted. An Error of kind kData with file and line when a line is
  // not a JSON object, or its text is not a string or not valid Unicode; other errors as for
  // FileSequence::fetch().
  std::optional<std::string> next();

  const ReadingState& state() const { return state_; }

 private:
  std::optional<std::string> parse_line();
  DocumentPlace place() const { return {state_.files - 1, lines_->line()}; }

  std::shared_ptr<FileSequence> files_;
  Path path_;  // of the file being read
  std::optional<LineReader> lines_;
  std::string line_;
  int64_t bytes_before_ = 0;  // in the files already read to the end
  ReadingState state_;
};

}  // namespace saddle::data
