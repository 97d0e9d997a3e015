// The token cache: a directory of shards of little-endian uint16 ids and a manifest.json that says
// what they were made from. A cache that has its final name is complete and never changes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace saddle::data {

inline constexpr int64_t kCacheVersion = 1;
inline constexpr int64_t kDefaultShardTokens = 16'777'216;
inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr int64_t kMaxVocabulary = 65'536;  // ids are stored in 16 bits

enum class Split { kTrain, kValidation };
std::string_view split_name(Split split);            // "train", "validation"
std::string shard_name(Split split, int64_t index);  // "train-00000.bin", ...

struct ShardRecord {
  std::string name;  // file name inside the cache's directory
  int64_t tokens = 0;
  std::string sha256;
  bool operator==(const ShardRecord&) const = default;
};

// A file of documents that some tokens of a split came from.
struct SourceRecord {
  std::string name;
  int64_t bytes = 0;
  std::string sha256;
  bool operator==(const SourceRecord&) const = default;
};

struct SplitRecord {
  int64_t tokens = 0;     // the sum over the shards
  int64_t documents = 0;  // with tokens in the split; the last one may be cut
  bool complete = true;   // whether it contains every document of the sources in full
  std::map<std::string, int64_t> skipped;  // documents left out, by reason
  std::vector<SourceRecord> sources;       // the files that were read for it, in order
  std::vector<ShardRecord> shards;
  bool operator==(const SplitRecord&) const = default;
};

struct CacheManifest {
  std::string dataset;   // a name for human readers; may be empty
  std::string revision;  // of a published dataset; may be empty
  std::string tokenizer_sha256;
  int64_t vocab_size = 0;
  int64_t eos_id = 0;
  uint64_t shuffle_seed = 0;
  int64_t shuffle_buffer = 0;
  int64_t shard_tokens = kDefaultShardTokens;
  SplitRecord train;
  SplitRecord validation;
  std::string identity;  // set by read_manifest()
  bool operator==(const CacheManifest&) const = default;

  const SplitRecord& split(Split which) const {
    return which == Split::kTrain ? train : validation;
  }
};

// The manifest as it is stored. Its `identity`, the SHA-256 of the canonical JSON of everything
// else, is computed here.
Json manifest_to_json(const CacheManifest& manifest);

// The SHA-256 of the canonical JSON of a manifest without its "identity". Errors: kData when a
// string is not UTF-8.
std::string manifest_identity(Json manifest);

// Checks the version, fields, identity, shard names and token counts of a manifest; an Error of
// kind kData names `path` and the field.
CacheManifest manifest_from_json(const Json& json, const Path& path);
// The same for a file; also kIo.
CacheManifest read_manifest(const Path& path);

// True when `directory` contains a manifest.json.
bool is_cache(const Path& directory);

// A finished cache. Several threads may read at once. Each read opens its shard and closes it
// afterwards, so the limit on open files does not limit the number of shards.
class TokenCache {
 public:
  // Checks the manifest and the size of every shard; the checksums are checked by verify().
  explicit TokenCache(const Path& directory);

  const Path& directory() const { return directory_; }
  const CacheManifest& manifest() const { return manifest_; }
  const std::string& identity() const { return manifest_.identity; }
  int64_t vocab_size() const { return manifest_.vocab_size; }
  int64_t tokens(Split split) const { return manifest_.split(split).tokens; }
  bool validation_complete() const { return manifest_.validation.complete; }

  // Copies the tokens [first, first + count) of the split to `out`. An id at or above the
  // vocabulary size is an Error of kind kData that gives its shard and byte offset.
  void read(Split split, int64_t first, int64_t count, uint16_t* out) const;

  // Reads everything: checksums, then ids. The first fault is an Error of kind kData that names the
  // file and what is wrong with it.
  void verify() const;

 private:
  void verify_shard(const ShardRecord& record) const;

  Path directory_;
  CacheManifest manifest_;
};

}  // namespace saddle::data
