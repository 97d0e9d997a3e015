#include "data/reuse.h"

#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/sha256.h"

namespace saddle::data {

namespace {

class Differences {
 public:
  template <class Value>
  void compare(const char* field, const Value& cached, const Value& asked) {
    if (cached != asked) add(fmt::format("{} is {}, asked for is {}", field, cached, asked));
  }
  void add(std::string text) { texts_.push_back(std::move(text)); }
  bool empty() const { return texts_.empty(); }
  std::string joined() const { return fmt::format("{}", fmt::join(texts_, "; ")); }

 private:
  std::vector<std::string> texts_;
};

// A cache that took all documents has all files; one that was cut has the first of them.
void compare_sources(const SplitRecord& split, Split which, const std::vector<Path>& files,
                     Differences* differences) {
  const std::vector<SourceRecord>& sources = split.sources;
  if (files.size() < sources.size() || (split.complete && files.size() > sources.size())) {
    differences->add(fmt::format("it was made from {} {} files, there are {} now", sources.size(),
                                 split_name(which), files.size()));
    return;
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    if (describe_source(files[i]) != sources[i]) {
      differences->add(fmt::format("the source {} is not the one it was made from ({})",
                                   files[i].string(), sources[i].name));
    }
  }
}

void compare_sizes(const CacheManifest& manifest, const PrepareOptions& options,
                   Differences* differences) {
  const SplitRecord& train = manifest.train;
  if (options.train_tokens && *options.train_tokens > train.tokens) {
    differences->add(fmt::format("it has {} training tokens, {} are needed", train.tokens,
                                 *options.train_tokens));
  }
  if (!options.train_tokens && !train.complete) {
    differences->add(
        fmt::format("it was cut at {} training tokens, all are asked for", train.tokens));
  }
  const SplitRecord& validation = manifest.validation;
  if (!options.validation_tokens && !validation.complete) {
    differences->add(fmt::format("its validation split was cut at {} tokens, all are asked for",
                                 validation.tokens));
  }
  if (options.validation_tokens && *options.validation_tokens != validation.tokens &&
      !(validation.complete && *options.validation_tokens > validation.tokens)) {
    differences->add(fmt::format("it has {} validation tokens, {} are asked for", validation.tokens,
                                 *options.validation_tokens));
  }
}

}  // namespace

SourceRecord describe_source(const Path& path) {
  return {path.filename().string(), InputFile(path).size(), sha256_file(path)};
}

void check_same_request(const TokenCache& cache, const PrepareOptions& options,
                        const Tokenizer& tokenizer, const DocumentFiles& files) {
  const CacheManifest& manifest = cache.manifest();
  Differences differences;
  differences.compare("dataset", manifest.dataset, options.dataset);
  differences.compare("revision", manifest.revision, options.revision);
  differences.compare("tokenizer SHA-256", manifest.tokenizer_sha256, tokenizer.sha256());
  differences.compare("data.shuffle_seed", manifest.shuffle_seed, options.shuffle_seed);
  differences.compare("data.shuffle_buffer", manifest.shuffle_buffer, options.shuffle_buffer);
  differences.compare("data.shard_tokens", manifest.shard_tokens, options.shard_tokens);
  compare_sizes(manifest, options, &differences);
  // Hashing the sources takes long, so it comes when nothing else differs.
  if (differences.empty()) {
    compare_sources(manifest.train, Split::kTrain, files.train, &differences);
    compare_sources(manifest.validation, Split::kValidation, files.validation, &differences);
  }
  if (!differences.empty()) {
    fail(ErrorKind::kConfig, "{} was made from another request: {}; choose a new directory",
         cache.directory().string(), differences.joined());
  }
}

}  // namespace saddle::data
