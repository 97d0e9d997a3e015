// Makes a token cache from files of documents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/log.h"
#include "data/cache.h"
#include "data/dataset.h"

namespace saddle::data {

struct PrepareOptions {
  // Folders, glob patterns and files (find_document_files()); `dataset` and `revision` are then
  // only for human readers. Empty: the published dataset of that name and revision
  // (data/dataset.h).
  std::vector<std::string> source;
  std::vector<std::string> validation_source;  // when validation files are given separately
  std::string dataset;                         // stored in the manifest, as is the revision
  std::string revision;
  DatasetOptions published;  // how to get a published dataset
  Path tokenizer_model;
  Path directory;                            // where the cache appears once it is complete
  int64_t vocab_size = 32'000;               // that the tokenizer must have
  std::optional<int64_t> train_tokens;       // exactly this many; all when empty
  std::optional<int64_t> validation_tokens;  // at most this many; all when empty
  int64_t shard_tokens = kDefaultShardTokens;
  int64_t shuffle_buffer = 10'000;  // documents
  uint64_t shuffle_seed = 42;
  int64_t workers = 0;  // threads that tokenize; 0 for one per core
};

struct PrepareSummary {
  bool reused = false;  // the cache already existed, and is verified
  CacheManifest manifest;
  std::string identity;
  double seconds = 0.0;
  double tokens_per_second = 0.0;  // 0 when reused
};

// Tokenizes the documents of both splits, each followed by the end-of-sequence id, and publishes
// the cache by one rename. Training documents pass through a shuffle buffer (data/shuffle.h) and
// are cut at exactly `train_tokens`; validation keeps its order and is cut at `validation_tokens`.
// The bytes do not depend on the number of workers, nor on whether files of a published dataset
// were downloaded or already here. They are downloaded one by one, only as far as the requested
// tokens need them.
//
// A finished cache in `directory` is verified and, when it was made from the same request and has
// at least `train_tokens`, reused; otherwise an Error of kind kConfig says what differs. If the
// sources have fewer tokens than requested, an Error of kind kData gives their number. After an
// error, or when the process is killed, `directory` is as it was before.
PrepareSummary prepare(const PrepareOptions& options, Log* log);

}  // namespace saddle::data
