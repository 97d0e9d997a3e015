// Small token caches with known ids.
#pragma once

#include <cstdint>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/random.h"
#include "data/cache.h"
#include "data/shard_writer.h"

namespace saddle::data {

// The ids first, first + 1, ... modulo `vocab_size`: every id encodes its place.
inline std::vector<uint16_t> counting_ids(int64_t count, int64_t vocab_size, int64_t first = 0) {
  std::vector<uint16_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<uint16_t>((first + i) % vocab_size));
  }
  return ids;
}

// Independent ids; smaller ones are more frequent.
inline std::vector<uint16_t> random_ids(int64_t count, int64_t vocab_size, uint64_t seed) {
  const RandomStream random(seed, RandomPurpose::kTest);
  std::vector<uint16_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    const double uniform = random.uniform(static_cast<uint64_t>(i));
    ids.push_back(static_cast<uint16_t>(uniform * uniform * static_cast<double>(vocab_size)));
  }
  return ids;
}

// Writes a cache of these ids to `directory`. Ids outside the vocabulary are written unchanged, for
// tests of their readers.
inline void write_token_cache(const Path& directory, const std::vector<uint16_t>& train,
                              const std::vector<uint16_t>& validation, int64_t vocab_size,
                              int64_t shard_tokens = kDefaultShardTokens,
                              bool validation_complete = true) {
  make_directories(directory);
  const auto write_split = [&](Split split, const std::vector<uint16_t>& ids) {
    ShardWriter writer(directory, split, shard_tokens);
    writer.append(ids);
    SplitRecord record;
    record.tokens = writer.tokens();
    record.documents = 1;
    record.shards = writer.finish();
    return record;
  };
  CacheManifest manifest;
  manifest.dataset = "synthetic";
  manifest.tokenizer_sha256 = "none";
  manifest.vocab_size = vocab_size;
  manifest.shard_tokens = shard_tokens;
  manifest.train = write_split(Split::kTrain, train);
  manifest.validation = write_split(Split::kValidation, validation);
  manifest.validation.complete = validation_complete;
  write_json(directory / kManifestName, manifest_to_json(manifest));
}

}  // namespace saddle::data
