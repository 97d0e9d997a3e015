#include "data/prepare.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "data/build_directory.h"
#include "data/document_files.h"
#include "data/documents.h"
#include "data/file_sequence.h"
#include "data/pipeline.h"
#include "data/reuse.h"
#include "data/shard_writer.h"
#include "data/shuffle.h"
#include "data/tokenizer.h"

namespace saddle::data {

namespace {

constexpr int64_t kProgressDocuments = 64;  // between two readings of the clock

void check_options(const PrepareOptions& options) {
  if (options.directory.empty()) fail(ErrorKind::kConfig, "no directory is given for the cache");
  for (const auto& [name, tokens] : {std::pair("training", options.train_tokens),
                                     std::pair("validation", options.validation_tokens)}) {
    if (tokens && *tokens < 1) {
      fail(ErrorKind::kConfig, "expected at least 1 {} token, found {}", name, *tokens);
    }
  }
  if (options.source.empty() && options.dataset.empty()) {
    fail(ErrorKind::kConfig, "neither a source of documents nor a published dataset is given");
  }
  if (options.workers < 0) {
    fail(ErrorKind::kConfig, "expected 0 or more workers, found {}", options.workers);
  }
}

// The files of both splits.
struct Inputs {
  std::string name;  // for messages
  std::shared_ptr<FileSequence> train;
  std::shared_ptr<FileSequence> validation;
};

Inputs published_inputs(const PrepareOptions& options, Log* log) {
  const PublishedDataset dataset = find_dataset(options.dataset);
  const auto files_of = [&](Split split) {
    return std::make_shared<DatasetFiles>(dataset, options.revision, split, options.published, log);
  };
  return {fmt::format("{} ({})", options.dataset, options.revision), files_of(Split::kTrain),
          files_of(Split::kValidation)};
}

Inputs local_inputs(const PrepareOptions& options, Log* log) {
  DocumentFiles files = find_document_files(options.source, options.validation_source);
  for (const IgnoredFile& file : files.ignored) {
    log->warn("{} is left out: {}", file.path.string(), file.reason);
  }
  return {fmt::format("{}", fmt::join(options.source, ", ")),
          std::make_shared<LocalFiles>(std::move(files.train)),
          std::make_shared<LocalFiles>(std::move(files.validation))};
}

Inputs find_inputs(const PrepareOptions& options, Log* log) {
  return options.source.empty() ? published_inputs(options, log) : local_inputs(options, log);
}

// Ends a download that nobody is waiting for any more. Must be destroyed before its reader.
class CancelAtEnd {
 public:
  explicit CancelAtEnd(FileSequence* files) : files_(files) {}
  CancelAtEnd(const CancelAtEnd&) = delete;
  CancelAtEnd& operator=(const CancelAtEnd&) = delete;
  ~CancelAtEnd() { files_->cancel(); }

 private:
  FileSequence* files_;
};

// Makes the shards of one split and reports progress.
class SplitBuilder {
 public:
  SplitBuilder(Split split, const Inputs& inputs, std::optional<int64_t> limit,
               const PrepareOptions& options, const Path& directory, Log* log)
      : split_(split),
        inputs_name_(inputs.name),
        files_(split == Split::kTrain ? inputs.train : inputs.validation),
        limit_(limit),
        options_(options),
        writer_(directory, split, options.shard_tokens),
        log_(log) {}

  SplitRecord build(const Tokenizer& tokenizer) {
    const int64_t capacity = split_ == Split::kTrain ? options_.shuffle_buffer : 1;
    const int64_t workers = options_.workers > 0 ? options_.workers : available_cores();
    TokenPipeline pipeline(
        DocumentShuffler(DocumentReader(files_), capacity, options_.shuffle_seed), tokenizer,
        workers);
    const CancelAtEnd cancel(files_.get());
    bool cut = false;
    while (!cut) {
      std::optional<TokenizedDocument> document = pipeline.next();
      if (!document) {
        read_ = pipeline.final_state();
        break;
      }
      cut = take(*document);
      if (record_.documents % kProgressDocuments == 0) report_progress();
    }
    log_->finish_progress();
    record_.complete = !cut;
    record_.tokens = writer_.tokens();
    record_.shards = writer_.finish();
    finish_record();
    return std::move(record_);
  }

 private:
  // Appends the tokens up to the limit; true if not all of them fit. Exactly at the limit it takes
  // one more document, of which nothing fits, to learn whether there are more.
  bool take(const TokenizedDocument& document) {
    const auto size = static_cast<int64_t>(document.tokens.size());
    const int64_t room = limit_ ? *limit_ - writer_.tokens() : size;
    const int64_t count = std::min(size, room);
    if (count > 0) {
      writer_.append(std::span(document.tokens).first(static_cast<size_t>(count)));
      ++record_.documents;
      read_ = document.state;
    }
    return count < size;
  }

  void report_progress() {
    const double rate = static_cast<double>(writer_.tokens()) / std::max(watch_.seconds(), 1e-3);
    const double done = std::min(std::max(share_of_limit(), share_of_documents()), 1.0);
    log_->progress(fmt::format(
        "{}: {} documents, {} tokens, {} tokens/s, {} left", split_name(split_), record_.documents,
        human_count(static_cast<double>(writer_.tokens())), human_count(rate),
        human_duration(watch_.seconds() * (1.0 - done) / std::max(done, 1e-9))));
  }

  double share_of_limit() const {
    return limit_ ? static_cast<double>(writer_.tokens()) / static_cast<double>(*limit_) : 0.0;
  }

  // Assumes as many documents per compressed byte in all files as in what was read so far.
  double share_of_documents() const {
    const double all = static_cast<double>(read_.documents) *
                       static_cast<double>(files_->total_bytes()) /
                       static_cast<double>(std::max<int64_t>(read_.bytes, 1));
    return static_cast<double>(record_.documents) / std::max(all, 1.0);
  }

  void leave_out(const char* reason, int64_t count, const DocumentPlace& first) {
    if (count == 0) return;
    record_.skipped[reason] = count;
    log_->warn("{}: {} documents were left out: {}, the first of them {} line {}",
               split_name(split_), count, reason, files_->name(first.file), first.line);
  }

  void finish_record() {
    leave_out("empty text", read_.empty_text, read_.first_empty_text);
    leave_out("no text", read_.no_text, read_.first_no_text);
    const std::string passed_over = passed_over_text(read_.blank_lines, read_.zero_bytes);
    if (!passed_over.empty()) log_->info("{}: {}", split_name(split_), passed_over);
    if (record_.tokens == 0) {
      fail(ErrorKind::kData, "{}: the {} files contain no document with text", inputs_name_,
           split_name(split_));
    }
    for (int64_t i = 0; i < read_.files; ++i) {
      record_.sources.push_back(describe_source(files_->fetch(i)));
    }
    log_->info("{}: {} documents, {} tokens{}", split_name(split_), record_.documents,
               record_.tokens, record_.complete ? "" : " (cut at the requested number)");
  }

  Split split_;
  std::string inputs_name_;
  std::shared_ptr<FileSequence> files_;
  std::optional<int64_t> limit_;
  const PrepareOptions& options_;
  ShardWriter writer_;
  Log* log_;
  Stopwatch watch_;
  SplitRecord record_;
  ReadingState read_;  // up to the last document that was used
};

CacheManifest build_cache(const PrepareOptions& options, const Tokenizer& tokenizer,
                          const Inputs& inputs, const Path& directory, Log* log) {
  CacheManifest manifest;
  manifest.dataset = options.dataset;
  manifest.revision = options.revision;
  manifest.tokenizer_sha256 = tokenizer.sha256();
  manifest.vocab_size = tokenizer.vocab_size();
  manifest.eos_id = tokenizer.eos_id();
  manifest.shuffle_seed = options.shuffle_seed;
  manifest.shuffle_buffer = options.shuffle_buffer;
  manifest.shard_tokens = options.shard_tokens;
  manifest.validation =
      SplitBuilder(Split::kValidation, inputs, options.validation_tokens, options, directory, log)
          .build(tokenizer);
  manifest.train =
      SplitBuilder(Split::kTrain, inputs, options.train_tokens, options, directory, log)
          .build(tokenizer);
  const int64_t found = manifest.train.tokens;
  if (options.train_tokens && found < *options.train_tokens) {
    fail(ErrorKind::kData,
         "the training documents of {} give {} tokens, but {} are needed: add files, or set "
         "training.max_tokens to at most {} (data.prepare_train_tokens to at most {})",
         inputs.name, found, *options.train_tokens, found - 1, found);
  }
  write_json(directory / kManifestName, manifest_to_json(manifest));
  return manifest;
}

PrepareSummary reuse_cache(const PrepareOptions& options, const Tokenizer& tokenizer,
                           const Inputs& inputs, const Stopwatch& watch, Log* log) {
  const TokenCache cache(options.directory);
  check_same_request(cache, options, tokenizer, *inputs.train, *inputs.validation);
  log->info("{} already exists: verifying its checksums", options.directory.string());
  cache.verify();
  PrepareSummary summary;
  summary.reused = true;
  summary.manifest = cache.manifest();
  summary.identity = cache.identity();
  summary.seconds = watch.seconds();
  return summary;
}

}  // namespace

PrepareSummary prepare(const PrepareOptions& options, Log* log) {
  check_options(options);
  const Stopwatch watch;
  const Tokenizer tokenizer(options.tokenizer_model);
  check_vocabulary(tokenizer, options.vocab_size);
  const Inputs inputs = find_inputs(options, log);
  // A finished cache never changes, so it needs no lock and may be where nobody can write.
  if (is_cache(options.directory)) return reuse_cache(options, tokenizer, inputs, watch, log);
  BuildDirectory building(options.directory);
  // Another process may have finished before this one got the lock.
  if (is_cache(options.directory)) return reuse_cache(options, tokenizer, inputs, watch, log);

  build_cache(options, tokenizer, inputs, building.create(log), log);
  building.publish();
  PrepareSummary summary;
  summary.manifest = read_manifest(options.directory / kManifestName);
  summary.identity = summary.manifest.identity;
  summary.seconds = watch.seconds();
  summary.tokens_per_second =
      static_cast<double>(summary.manifest.train.tokens + summary.manifest.validation.tokens) /
      std::max(summary.seconds, 1e-9);
  return summary;
}

}  // namespace saddle::data
