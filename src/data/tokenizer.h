// SentencePiece tokenizers: loading one, encoding with it, training one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/log.h"

namespace saddle::data {

// The library that tokenizers come from, with the version that the program was built with.
std::string tokenizer_library();

// A SentencePiece model. Encoding is safe from several threads at once.
class Tokenizer {
 public:
  // Loads a model file. An Error of kind kData when it is not a SentencePiece model, has more than
  // kMaxVocabulary pieces, a damaged table of replaced characters, or no end-of-sequence piece.
  explicit Tokenizer(const Path& model_file);
  Tokenizer(Tokenizer&&) noexcept;
  ~Tokenizer();

  const Path& path() const { return path_; }
  const std::string& sha256() const { return sha256_; }  // of the model file
  int64_t vocab_size() const { return vocab_size_; }
  uint16_t eos_id() const { return eos_id_; }
  std::optional<uint16_t> bos_id() const;  // nothing when the model has no such piece
  std::optional<uint16_t> unk_id() const;

  // The piece of an id as the model writes it (</s>, a space as U+2581).
  std::string piece(uint16_t id) const;

  // Appends the ids of `text` (UTF-8) to `ids`, without special tokens.
  void encode(std::string_view text, std::vector<uint16_t>* ids) const;
  std::vector<uint16_t> encode(std::string_view text) const;

  // The text of the ids; an id at or over the vocabulary is an Error of kind kData.
  std::string decode(std::span<const uint16_t> ids) const;

 private:
  struct Processor;
  Path path_;
  std::string sha256_;
  int64_t vocab_size_ = 0;
  uint16_t eos_id_ = 0;
  std::unique_ptr<Processor> processor_;
};

// An Error of kind kConfig unless the tokenizer has exactly `vocab_size` pieces.
void check_vocabulary(const Tokenizer& tokenizer, int64_t vocab_size);

struct TokenizerTrainingOptions {
  // Text files (a sentence a line) or files of documents (JSON lines), each optionally with .gz.
  std::vector<Path> inputs;
  Path model_file;  // written whole or not at all
  int64_t vocab_size = 32'000;
  std::string model_type = "bpe";  // or "unigram"
  bool byte_fallback = true;       // characters without a piece become byte pieces
  bool split_digits = true;        // every digit is a piece of its own
  double character_coverage = 0.99995;
  int64_t max_sentences = 0;  // only this many lines from the start; 0 for all
};

struct TokenizerTrainingSummary {
  int64_t sentences = 0;    // lines of text that were used, empty ones not counted
  int64_t bytes = 0;        // in them
  int64_t skipped = 0;      // lines left out: the trainer accepts neither NUL nor U+2585
  int64_t long_words = 0;   // words left out (data/long_words.h)
  int64_t blank_lines = 0;  // in files of documents, ignored
  int64_t zero_bytes = 0;   // after gzip data, ignored
  std::string sha256;       // of the model file
};

// Trains a SentencePiece model with the ids unk 0, bos 1, eos 2 and the text left as it is (no
// normalization, a dummy space in front). The same inputs and options give the same bytes. `log`
// names what is left out. Errors: kConfig if the text has too little content for so many pieces, or
// is too long for a unigram model; kIo, before any work, when the model file cannot be written.
TokenizerTrainingSummary train_tokenizer(const TokenizerTrainingOptions& options, Log* log);

}  // namespace saddle::data
