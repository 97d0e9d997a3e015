// The order of the training documents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/documents.h"

namespace saddle::data {

// A document, and what its reader had read when it was drawn.
struct DrawnDocument {
  std::string text;
  ReadingState state;
};

// A shuffle buffer. Before draw i the buffer is filled up to `capacity` documents in the order of
// the reader; then slot below(i, size) is taken and the last document of the buffer moves into it.
// A capacity of 1 keeps the order of the reader. Keeps `capacity` documents in memory.
class DocumentShuffler {
 public:
  DocumentShuffler(DocumentReader reader, int64_t capacity, uint64_t seed);

  // The next document; nothing once all are drawn. Errors are those of the reader.
  std::optional<DrawnDocument> next();

  const ReadingState& state() const { return reader_.state(); }

 private:
  DocumentReader reader_;
  RandomStream random_;
  size_t capacity_;
  uint64_t draws_ = 0;
  bool exhausted_ = false;
  std::vector<std::string> buffer_;
};

}  // namespace saddle::data
