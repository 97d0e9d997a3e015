#include "data/shuffle.h"

#include "base/error.h"

namespace saddle::data {

DocumentShuffler::DocumentShuffler(DocumentReader reader, int64_t capacity, uint64_t seed)
    : reader_(std::move(reader)),
      random_(seed, RandomPurpose::kDocumentOrder),
      capacity_(static_cast<size_t>(capacity)) {
  if (capacity < 1) {
    fail(ErrorKind::kConfig, "the shuffle buffer must hold at least 1 document, found {}",
         capacity);
  }
}

std::optional<DrawnDocument> DocumentShuffler::next() {
  while (!exhausted_ && buffer_.size() < capacity_) {
    std::optional<std::string> text = reader_.next();
    if (text) {
      buffer_.push_back(std::move(*text));
    } else {
      exhausted_ = true;
    }
  }
  if (buffer_.empty()) return std::nullopt;
  const size_t slot = static_cast<size_t>(random_.below(draws_++, buffer_.size()));
  std::swap(buffer_[slot], buffer_.back());
  DrawnDocument drawn{std::move(buffer_.back()), reader_.state()};
  buffer_.pop_back();
  return drawn;
}

}  // namespace saddle::data
