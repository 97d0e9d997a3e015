#include <sentencepiece_trainer.h>

#include <exception>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/sha256.h"
#include "data/cache.h"
#include "data/documents.h"
#include "data/lines.h"
#include "data/tokenizer.h"

namespace saddle::data {

namespace {

// The lines of all inputs. A document gives a line for each of its own.
class InputLines {
 public:
  explicit InputLines(std::vector<Path> inputs) : inputs_(std::move(inputs)) {}

  bool next(std::string* line) {
    while (true) {
      if (document_) {
        if (next_of_document(line)) return true;
        document_.reset();
      }
      if (documents_ && (document_ = documents_->next())) {
        begin_ = 0;
        continue;
      }
      documents_.reset();
      if (lines_ && lines_->next(line)) return true;
      lines_.reset();
      if (opened_ == inputs_.size()) return false;
      const Path& path = inputs_[opened_++];
      if (is_document_file(path)) {
        documents_.emplace(std::vector<Path>{path});
      } else {
        lines_.emplace(path);
      }
    }
  }

 private:
  bool next_of_document(std::string* line) {
    if (begin_ >= document_->size()) return false;
    const size_t end = std::min(document_->find('\n', begin_), document_->size());
    line->assign(*document_, begin_, end - begin_);
    begin_ = end + 1;
    return true;
  }

  std::vector<Path> inputs_;
  size_t opened_ = 0;
  std::optional<DocumentReader> documents_;
  std::optional<LineReader> lines_;
  std::optional<std::string> document_;
  size_t begin_ = 0;  // of the next line in document_
};

// Gives the lines to SentencePiece. Its code is not ours, so an error waits here until it returned.
class Sentences : public sentencepiece::SentenceIterator {
 public:
  Sentences(const TokenizerTrainingOptions& options, TokenizerTrainingSummary* summary)
      : lines_(options.inputs), most_(options.max_sentences), summary_(summary) {
    Next();
  }

  bool done() const override { return done_; }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  void Next() override {
    try {
      done_ = (most_ > 0 && summary_->sentences >= most_) || !advance();
    } catch (...) {
      failure_ = std::current_exception();
      done_ = true;
    }
  }

 private:
  bool advance() {
    while (lines_.next(&line_)) {
      if (!line_.empty() && line_.back() == '\r') line_.pop_back();
      if (line_.empty()) continue;
      if (line_.find('\0') != std::string::npos || line_.find("\u2585") != std::string::npos) {
        ++summary_->skipped;
        continue;
      }
      ++summary_->sentences;
      summary_->bytes += static_cast<int64_t>(line_.size());
      return true;
    }
    return false;
  }

  InputLines lines_;
  int64_t most_;
  TokenizerTrainingSummary* summary_;
  std::string line_;
  bool done_ = false;
  std::exception_ptr failure_;
};

std::unordered_map<std::string, std::string> trainer_arguments(
    const TokenizerTrainingOptions& options) {
  const auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  return {
      {"model_type", options.model_type},
      {"vocab_size", std::to_string(options.vocab_size)},
      {"character_coverage", fmt::format("{}", options.character_coverage)},
      {"byte_fallback", flag(options.byte_fallback)},
      {"split_digits", flag(options.split_digits)},
      {"normalization_rule_name", "identity"},
      {"remove_extra_whitespaces", "false"},
      {"allow_whitespace_only_pieces", "true"},
      {"add_dummy_prefix", "true"},
      {"max_sentence_length", std::to_string(1 << 30)},
      {"unk_id", "0"},
      {"bos_id", "1"},
      {"eos_id", "2"},
      {"pad_id", "-1"},
      // One thread, and no sampling: sums in a fixed order, so the same input gives the same model.
      {"num_threads", "1"},
      {"input_sentence_size", "0"},
      {"shuffle_input_sentence", "false"},
      // Nothing below an error: saddle reports for itself.
      {"minloglevel", "2"},
  };
}

void check_options(const TokenizerTrainingOptions& options) {
  if (options.inputs.empty()) fail(ErrorKind::kUsage, "no text is given to train a tokenizer on");
  if (options.vocab_size < 1 || options.vocab_size > kMaxVocabulary) {
    fail(ErrorKind::kConfig, "expected a vocabulary of 1 to {} pieces, found {}", kMaxVocabulary,
         options.vocab_size);
  }
  if (options.model_type != "bpe" && options.model_type != "unigram") {
    fail(ErrorKind::kConfig, "expected a model type bpe or unigram, found {}", options.model_type);
  }
  if (!(options.character_coverage > 0.0 && options.character_coverage <= 1.0)) {
    fail(ErrorKind::kConfig, "expected a character coverage over 0 and up to 1, found {}",
         options.character_coverage);
  }
}

}  // namespace

TokenizerTrainingSummary train_tokenizer(const TokenizerTrainingOptions& options, Log* log) {
  check_options(options);
  log->info("training a {} tokenizer of {} pieces", options.model_type, options.vocab_size);
  TokenizerTrainingSummary summary;
  Sentences sentences(options, &summary);
  std::string model;
  const auto status =
      sentencepiece::SentencePieceTrainer::Train(trainer_arguments(options), &sentences, &model);
  sentences.rethrow();
  if (summary.sentences == 0) {
    fail(ErrorKind::kData, "there is no text to train a tokenizer on: every line is empty");
  }
  if (!status.ok()) {
    fail(ErrorKind::kConfig, "SentencePiece cannot train {} pieces on {} lines of {} bytes: {}",
         options.vocab_size, summary.sentences, summary.bytes, status.ToString());
  }
  summary.sha256 = sha256_hex(model);
  write_file_atomically(options.model_file, model);
  if (summary.skipped > 0) {
    log->warn("{} lines were left out: they hold a NUL or U+2585", summary.skipped);
  }
  log->info("{}: {} pieces from {} lines of text", options.model_file.string(), options.vocab_size,
            summary.sentences);
  return summary;
}

}  // namespace saddle::data
