#include "data/cache.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/narrow.h"
#include "base/sha256.h"

namespace saddle::data {

namespace {

static_assert(std::endian::native == std::endian::little,
              "shards are little-endian and are read without conversion");

constexpr int64_t kTokenBytes = sizeof(uint16_t);
constexpr int64_t kVerifyTokens = int64_t{2} << 20;

// The position of the first id at or above `vocab_size`, or -1. The maximum alone vectorizes, and
// the slow search runs only when there is something to find.
int64_t first_out_of_range(const uint16_t* ids, int64_t count, int64_t vocab_size) {
  uint16_t largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, ids[i]);
  if (largest < vocab_size) return -1;
  return std::find_if(ids, ids + count, [&](uint16_t id) { return id >= vocab_size; }) - ids;
}

std::string out_of_range_text(uint16_t id, int64_t token, int64_t vocab_size) {
  return fmt::format("id {} at byte offset {} is outside the vocabulary of {}", id,
                     token * kTokenBytes, vocab_size);
}

void check_sizes(const Path& directory, const SplitRecord& split) {
  for (const ShardRecord& shard : split.shards) {
    const Path path = directory / shard.name;
    if (!std::filesystem::is_regular_file(file_status(path))) {
      fail(ErrorKind::kData, "{}: the shard is missing, expected {} tokens", path.string(),
           shard.tokens);
    }
    const auto size = narrow<int64_t>(std::filesystem::file_size(path));
    if (size != shard.tokens * kTokenBytes) {
      fail(ErrorKind::kData, "{}: the shard is {}: expected {} bytes for {} tokens, found {}",
           path.string(), size < shard.tokens * kTokenBytes ? "truncated" : "too long",
           shard.tokens * kTokenBytes, shard.tokens, size);
    }
  }
}

}  // namespace

TokenCache::TokenCache(const Path& directory) : directory_(directory) {
  if (!std::filesystem::exists(file_status(directory))) {
    fail(ErrorKind::kData,
         "there is no token cache '{}': '{}' does not exist (saddle prepare makes it)",
         directory.string(), std::filesystem::absolute(directory).lexically_normal().string());
  }
  if (!is_cache(directory)) {
    fail(ErrorKind::kData, "{} is not a token cache: it has no {}", directory.string(),
         kManifestName);
  }
  manifest_ = read_manifest(directory / kManifestName);
  check_sizes(directory, manifest_.train);
  check_sizes(directory, manifest_.validation);
}

void TokenCache::read(Split split, int64_t first, int64_t count, uint16_t* out) const {
  if (first < 0 || count < 0 || count > tokens(split) - first) {
    fail(ErrorKind::kInternal, "cannot read {} tokens at {} of {}: {} has {}", count, first,
         directory_.string(), split_name(split), tokens(split));
  }
  while (count > 0) {
    const int64_t shard = first / manifest_.shard_tokens;
    const int64_t begin = first % manifest_.shard_tokens;
    const int64_t piece = std::min(count, manifest_.shard_tokens - begin);
    const InputFile file(directory_ / shard_name(split, shard));
    file.read_at(begin * kTokenBytes, out, static_cast<size_t>(piece * kTokenBytes));
    const int64_t wrong = first_out_of_range(out, piece, vocab_size());
    if (wrong >= 0) {
      fail(ErrorKind::kData, "{}: {}", file.path().string(),
           out_of_range_text(out[wrong], begin + wrong, vocab_size()));
    }
    out += piece;
    first += piece;
    count -= piece;
  }
}

void TokenCache::verify() const {
  for (const Split split : {Split::kTrain, Split::kValidation}) {
    for (const ShardRecord& shard : manifest_.split(split).shards) verify_shard(shard);
  }
}

void TokenCache::verify_shard(const ShardRecord& record) const {
  const InputFile file(directory_ / record.name);
  Sha256 hash;
  std::string fault;
  std::vector<uint16_t> ids(static_cast<size_t>(std::min(record.tokens, kVerifyTokens)));
  for (int64_t begin = 0; begin < record.tokens; begin += kVerifyTokens) {
    const int64_t count = std::min(kVerifyTokens, record.tokens - begin);
    const auto bytes = static_cast<size_t>(count * kTokenBytes);
    file.read_at(begin * kTokenBytes, ids.data(), bytes);
    hash.update(ids.data(), bytes);
    const int64_t wrong = first_out_of_range(ids.data(), count, vocab_size());
    if (wrong >= 0 && fault.empty()) {
      fault = out_of_range_text(ids[static_cast<size_t>(wrong)], begin + wrong, vocab_size());
    }
  }
  const std::string found = hash.hex();
  if (found != record.sha256) {
    fail(ErrorKind::kData, "{}: the checksum differs: expected SHA-256 {}, found {}{}{}",
         file.path().string(), record.sha256, found, fault.empty() ? "" : "; ", fault);
  }
  if (!fault.empty()) fail(ErrorKind::kData, "{}: {}", file.path().string(), fault);
}

}  // namespace saddle::data
