#include <sentencepiece_trainer.h>

#include <exception>
#include <limits>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/output_file.h"
#include "base/sha256.h"
#include "base/threads.h"
#include "data/cache.h"
#include "data/document_files.h"
#include "data/documents.h"
#include "data/lines.h"
#include "data/long_words.h"
#include "data/tokenizer.h"

namespace saddle::data {

namespace {

// The lines of all inputs. Each line of a document counts as one.
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
      close_documents();
      if (lines_ && lines_->next(line)) return true;
      if (lines_) zero_bytes_ += lines_->zero_bytes();
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

  int64_t blank_lines() const {
    return blank_lines_ + (documents_ ? documents_->state().blank_lines : 0);
  }
  int64_t zero_bytes() const { return zero_bytes_; }

 private:
  void close_documents() {
    if (!documents_) return;
    blank_lines_ += documents_->state().blank_lines;
    zero_bytes_ += documents_->state().zero_bytes;
    documents_.reset();
  }

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
  size_t begin_ = 0;         // of the next line in document_
  int64_t blank_lines_ = 0;  // of the files that were read to their end
  int64_t zero_bytes_ = 0;
};

// Passes the lines to SentencePiece. That code is not ours, so an error is stored until it returns.
class Sentences : public sentencepiece::SentenceIterator {
 public:
  Sentences(const TokenizerTrainingOptions& options, TokenizerTrainingSummary* summary)
      : lines_(options.inputs),
        most_(options.max_sentences),
        unigram_(options.model_type == "unigram"),
        summary_(summary) {
    Next();
  }

  bool done() const override { return done_; }
  const std::string& value() const override { return line_; }
  // An error here ends the training before the work instead of after it.
  sentencepiece::util::Status status() const override {
    if (!failure_) return {};
    return {sentencepiece::util::StatusCode::kInternal, "the text cannot be read"};
  }
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
    summary_->blank_lines = lines_.blank_lines();
    summary_->zero_bytes = lines_.zero_bytes();
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
      summary_->long_words += remove_long_words(kMaxWordCharacters, &line_);
      if (line_.empty()) continue;
      count_characters();
      ++summary_->sentences;
      summary_->bytes += static_cast<int64_t>(line_.size());
      return true;
    }
    return false;
  }

  // The unigram trainer numbers all characters (one more for each line, and one in front) in 32
  // bits, and ends the program if there are more.
  void count_characters() {
    characters_ += static_cast<int64_t>(line_.size()) + 2;  // at least as many bytes as characters
    if (!unigram_ || characters_ <= std::numeric_limits<int32_t>::max()) return;
    fail(ErrorKind::kConfig,
         "a unigram model can be trained on less than 2 GiB of text, but there is more: use fewer "
         "than {} lines (--max-sentences), or train a bpe model",
         summary_->sentences);
  }

  InputLines lines_;
  int64_t most_;
  bool unigram_;
  int64_t characters_ = 0;
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
      // Only errors: saddle reports progress itself.
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
    fail(ErrorKind::kConfig, "expected a character coverage above 0 and at most 1, found {}",
         options.character_coverage);
  }
}

void report_left_out(const TokenizerTrainingSummary& summary, Log* log) {
  if (summary.skipped > 0) {
    log->warn("left out {} line(s) with a NUL or U+2585", summary.skipped);
  }
  if (summary.long_words > 0) {
    log->warn("left out {} word(s) of more than {} characters, which SentencePiece cannot handle",
              summary.long_words, kMaxWordCharacters);
  }
  const std::string passed_over = passed_over_text(summary.blank_lines, summary.zero_bytes);
  if (!passed_over.empty()) log->info("{}", passed_over);
}

}  // namespace

TokenizerTrainingSummary train_tokenizer(const TokenizerTrainingOptions& options, Log* log) {
  check_options(options);
  check_output_file(options.model_file);
  log->info("training a {} tokenizer of {} pieces", options.model_type, options.vocab_size);
  TokenizerTrainingSummary summary;
  Sentences sentences(options, &summary);
  std::string model;
  // SentencePiece starts one, and does not report it if it cannot.
  start_thread("SentencePiece", [](const std::stop_token&) {}).join();
  const auto status =
      sentencepiece::SentencePieceTrainer::Train(trainer_arguments(options), &sentences, &model);
  sentences.rethrow();
  if (summary.sentences == 0) {
    fail(ErrorKind::kData,
         "there is no text to train a tokenizer on: every line is empty or left out");
  }
  if (!status.ok()) {
    fail(ErrorKind::kConfig, "SentencePiece cannot train {} pieces on {} lines of {} bytes: {}",
         options.vocab_size, summary.sentences, summary.bytes, status.ToString());
  }
  summary.sha256 = sha256_hex(model);
  write_file_atomically(options.model_file, model);
  report_left_out(summary, log);
  log->info("{}: {} pieces from {} lines of text", options.model_file.string(), options.vocab_size,
            summary.sentences);
  return summary;
}

}  // namespace saddle::data
