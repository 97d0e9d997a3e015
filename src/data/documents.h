// Files of documents as C4 is published: JSON lines {"text": ...}, gzip-compressed or plain.
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

struct DocumentFiles {
  std::vector<Path> train;       // the file name contains "train"
  std::vector<Path> validation;  // the file name contains "validation"
  std::vector<Path> ignored;     // it contains neither
};

// The document files (.json, .jsonl, and both with .gz) of a folder (not of folders inside it),
// those that a glob pattern matches, or one file; each list sorted by name. An Error of kind kData
// when there is none, or when a name contains both words.
DocumentFiles find_document_files(const std::string& source);

// True when the name says JSON lines, compressed or not.
bool is_document_file(const Path& path);

// A line of one of the files.
struct DocumentPlace {
  int64_t file = 0;  // its index
  int64_t line = 0;  // from 1
};

// What was read so far.
struct ReadingState {
  int64_t files = 0;               // opened
  int64_t documents = 0;           // with text
  int64_t empty_text = 0;          // documents left out because their text is ""
  int64_t no_text = 0;             // documents left out because they have no text, or null
  int64_t bytes = 0;               // of the files as they lie on the disk
  DocumentPlace first_empty_text;  // of the documents left out
  DocumentPlace first_no_text;
};

// The documents of files one after another.
class DocumentReader {
 public:
  explicit DocumentReader(std::shared_ptr<FileSequence> files);
  explicit DocumentReader(std::vector<Path> files);

  // The text of the next document; nothing at the end. Documents without text are left out and
  // counted. An Error of kind kData with file and line when a line is not a JSON object, its text
  // is not a string, or is not valid Unicode; others as of FileSequence::fetch().
  std::optional<std::string> next();

  const ReadingState& state() const { return state_; }

 private:
  std::optional<std::string> parse_line();
  DocumentPlace place() const { return {state_.files - 1, lines_->line()}; }

  std::shared_ptr<FileSequence> files_;
  Path path_;  // of the file that is read
  std::optional<LineReader> lines_;
  std::string line_;
  int64_t bytes_before_ = 0;  // in the files read to their end
  ReadingState state_;
};

}  // namespace saddle::data
