// Writes the shards of one split.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/files.h"
#include "base/sha256.h"
#include "data/cache.h"

namespace saddle::data {

class ShardWriter {
 public:
  // Shards of `shard_tokens` tokens each, the last possibly shorter, in `directory`.
  ShardWriter(Path directory, Split split, int64_t shard_tokens);

  void append(std::span<const uint16_t> tokens);
  int64_t tokens() const { return tokens_; }

  // Closes the last shard and returns what was written, in order.
  std::vector<ShardRecord> finish();

 private:
  void close_shard();

  Path directory_;
  Split split_;
  int64_t shard_tokens_;
  int64_t tokens_ = 0;
  int64_t in_shard_ = 0;
  std::optional<AtomicFile> file_;
  std::optional<Sha256> hash_;
  std::vector<uint16_t> buffer_;  // not yet written: documents are much smaller than a good write
  std::vector<ShardRecord> shards_;

  void flush();
};

}  // namespace saddle::data
