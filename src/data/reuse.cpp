#include "data/reuse.h"

#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace saddle::data {

namespace {

class Differences {
 public:
  template <class Value>
  void compare(const char* field, const Value& cached, const Value& asked) {
    if (cached != asked) add(fmt::format("{} is {}, but {} was requested", field, cached, asked));
  }
  void add(std::string text) { texts_.push_back(std::move(text)); }
  bool empty() const { return texts_.empty(); }
  std::string joined() const { return fmt::format("{}", fmt::join(texts_, "; ")); }

 private:
  std::vector<std::string> texts_;
};

// A cache of all documents records all files; one that was cut records the first of them.
void compare_sources(const SplitRecord& split, Split which, const FileSequence& files,
                     Differences* differences) {
  const auto made_from = static_cast<int64_t>(split.sources.size());
  if (files.count() < made_from || (split.complete && files.count() > made_from)) {
    differences->add(fmt::format("it was made from {} {} files, but there are {} now", made_from,
                                 split_name(which), files.count()));
    return;
  }
  for (int64_t i = 0; i < made_from; ++i) {
    const SourceRecord& source = split.sources[static_cast<size_t>(i)];
    if (!files.matches(i, source)) {
      differences->add(fmt::format("the source {} is not the one it was made from ({})",
                                   files.name(i), source.name));
    }
  }
}

void compare_sizes(const CacheManifest& manifest, const PrepareOptions& options,
                   Differences* differences) {
  const SplitRecord& train = manifest.train;
  if (options.train_tokens && *options.train_tokens > train.tokens) {
    differences->add(fmt::format("it has {} training tokens, but {} are needed", train.tokens,
                                 *options.train_tokens));
  }
  if (!options.train_tokens && !train.complete) {
    differences->add(
        fmt::format("it was cut at {} training tokens, but all are requested", train.tokens));
  }
  const SplitRecord& validation = manifest.validation;
  if (!options.validation_tokens && !validation.complete) {
    differences->add(fmt::format("its validation split was cut at {} tokens, but all are requested",
                                 validation.tokens));
  }
  if (options.validation_tokens && *options.validation_tokens != validation.tokens &&
      !(validation.complete && *options.validation_tokens > validation.tokens)) {
    differences->add(fmt::format("it has {} validation tokens, but {} are requested",
                                 validation.tokens, *options.validation_tokens));
  }
}

}  // namespace

void check_same_request(const TokenCache& cache, const PrepareOptions& options,
                        const Tokenizer& tokenizer, const FileSequence& train,
                        const FileSequence& validation) {
  const CacheManifest& manifest = cache.manifest();
  Differences differences;
  differences.compare("dataset", manifest.dataset, options.dataset);
  differences.compare("revision", manifest.revision, options.revision);
  differences.compare("tokenizer SHA-256", manifest.tokenizer_sha256, tokenizer.sha256());
  differences.compare("data.shuffle_seed", manifest.shuffle_seed, options.shuffle_seed);
  differences.compare("data.shuffle_buffer", manifest.shuffle_buffer, options.shuffle_buffer);
  differences.compare("data.shard_tokens", manifest.shard_tokens, options.shard_tokens);
  compare_sizes(manifest, options, &differences);
  // Hashing the sources takes long, so it is done only if nothing else differs.
  if (differences.empty()) {
    compare_sources(manifest.train, Split::kTrain, train, &differences);
    compare_sources(manifest.validation, Split::kValidation, validation, &differences);
  }
  if (!differences.empty()) {
    fail(ErrorKind::kConfig, "{} was made for a different request: {}; choose a new directory",
         cache.directory().string(), differences.joined());
  }
}

}  // namespace saddle::data
