#include "data/shard_writer.h"

#include <algorithm>

#include "base/error.h"

namespace saddle::data {

namespace {
constexpr size_t kBufferTokens = size_t{512} << 10;
}  // namespace

ShardWriter::ShardWriter(Path directory, Split split, int64_t shard_tokens)
    : directory_(std::move(directory)), split_(split), shard_tokens_(shard_tokens) {
  if (shard_tokens < 1) {
    fail(ErrorKind::kConfig, "a shard must hold at least 1 token, found {}", shard_tokens);
  }
}

void ShardWriter::append(std::span<const uint16_t> tokens) {
  while (!tokens.empty()) {
    if (!file_) {
      file_.emplace(directory_ / shard_name(split_, static_cast<int64_t>(shards_.size())));
      hash_.emplace();
    }
    const auto count = static_cast<size_t>(
        std::min(static_cast<int64_t>(tokens.size()), shard_tokens_ - in_shard_));
    buffer_.insert(buffer_.end(), tokens.begin(), tokens.begin() + static_cast<int64_t>(count));
    if (buffer_.size() >= kBufferTokens) flush();
    in_shard_ += static_cast<int64_t>(count);
    tokens_ += static_cast<int64_t>(count);
    tokens = tokens.subspan(count);
    if (in_shard_ == shard_tokens_) close_shard();
  }
}

void ShardWriter::flush() {
  const size_t bytes = buffer_.size() * sizeof(uint16_t);
  file_->write(buffer_.data(), bytes);
  hash_->update(buffer_.data(), bytes);
  buffer_.clear();
}

void ShardWriter::close_shard() {
  flush();
  file_->commit();
  shards_.push_back(
      {shard_name(split_, static_cast<int64_t>(shards_.size())), in_shard_, hash_->hex()});
  file_.reset();
  hash_.reset();
  in_shard_ = 0;
}

std::vector<ShardRecord> ShardWriter::finish() {
  if (file_) close_shard();
  return std::move(shards_);
}

}  // namespace saddle::data
