#include "data/tokenizer.h"

#include <sentencepiece_processor.h>

#include <exception>
#include <limits>

#include "base/error.h"
#include "base/narrow.h"
#include "base/sha256.h"
#include "data/cache.h"
#include "data/character_map.h"
#include "data/sentencepiece_model.h"

namespace saddle::data {

struct Tokenizer::Processor {
  sentencepiece::SentencePieceProcessor pieces;
};

namespace {

void check_id(uint16_t id, int64_t vocab_size) {
  if (id >= vocab_size) {
    fail(ErrorKind::kData, "id {} is outside the vocabulary of {}", id, vocab_size);
  }
}

std::optional<uint16_t> id_in(int id, int64_t vocab_size) {
  if (id < 0 || id >= vocab_size) return std::nullopt;
  return narrow<uint16_t>(id);
}

// Loads a model. Returns what is wrong with it, or nothing.
std::string load(std::string_view bytes, sentencepiece::SentencePieceProcessor& pieces) {
  try {
    const auto status = pieces.LoadFromSerializedProto(bytes);
    return status.ok() ? "" : status.ToString();
  } catch (const std::exception& error) {  // from building its trie of the pieces
    return error.what();
  }
}

// Checks what the library would follow blindly, even while loading a model. Errors: kData.
void check_character_maps(std::string_view bytes, const Path& file) {
  const SentencePieceModel model = read_sentencepiece_model(bytes, file.string());
  for (const std::string& map : {model.precompiled_charsmap, model.decoding_charsmap}) {
    if (map.empty()) continue;
    const std::string fault = character_map_fault(map);
    if (fault.empty()) continue;
    fail(ErrorKind::kData, "{}: the table of replaced characters of the model is damaged: {}",
         file.string(), fault);
  }
}

}  // namespace

std::string tokenizer_library() {
  return fmt::format("SentencePiece {}", SADDLE_SENTENCEPIECE_VERSION);
}

Tokenizer::Tokenizer(const Path& model_file)
    : path_(model_file), processor_(std::make_unique<Processor>()) {
  const std::string bytes = read_file(model_file);
  sha256_ = sha256_hex(bytes);
  check_character_maps(bytes, model_file);
  if (const std::string fault = load(bytes, processor_->pieces); !fault.empty()) {
    fail(ErrorKind::kData, "{} is not a SentencePiece model: {}", model_file.string(), fault);
  }
  vocab_size_ = processor_->pieces.GetPieceSize();
  if (vocab_size_ < 1 || vocab_size_ > kMaxVocabulary) {
    fail(ErrorKind::kData, "{}: expected 1 to {} pieces (ids are stored in 16 bits), found {}",
         model_file.string(), kMaxVocabulary, vocab_size_);
  }
  const int eos = processor_->pieces.eos_id();
  if (eos < 0 || eos >= vocab_size_) {
    fail(ErrorKind::kData, "{}: the model has no end-of-sequence piece", model_file.string());
  }
  eos_id_ = narrow<uint16_t>(eos);
}

Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

std::optional<uint16_t> Tokenizer::bos_id() const {
  return id_in(processor_->pieces.bos_id(), vocab_size_);
}

std::optional<uint16_t> Tokenizer::unk_id() const {
  return id_in(processor_->pieces.unk_id(), vocab_size_);
}

std::string Tokenizer::piece(uint16_t id) const {
  check_id(id, vocab_size_);
  return processor_->pieces.IdToPiece(id);
}

void Tokenizer::encode(std::string_view text, std::vector<uint16_t>* ids) const {
  std::vector<int> wide;
  const auto status = processor_->pieces.Encode(text, &wide);
  if (!status.ok()) {
    fail(ErrorKind::kData, "{}: a text of {} bytes cannot be tokenized: {}", path_.string(),
         text.size(), status.ToString());
  }
  ids->reserve(ids->size() + wide.size());
  for (const int id : wide) ids->push_back(narrow<uint16_t>(id));
}

std::vector<uint16_t> Tokenizer::encode(std::string_view text) const {
  std::vector<uint16_t> ids;
  encode(text, &ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const uint16_t> ids) const {
  for (const uint16_t id : ids) check_id(id, vocab_size_);
  std::string text;
  const auto status = processor_->pieces.Decode(std::vector<int>(ids.begin(), ids.end()), &text);
  if (!status.ok()) {
    fail(ErrorKind::kData, "{}: {} ids cannot be decoded: {}", path_.string(), ids.size(),
         status.ToString());
  }
  return text;
}

void check_vocabulary(const Tokenizer& tokenizer, int64_t vocab_size) {
  if (tokenizer.vocab_size() != vocab_size) {
    fail(ErrorKind::kConfig, "{} has {} pieces, but model.vocab_size is {}",
         tokenizer.path().string(), tokenizer.vocab_size(), vocab_size);
  }
}

}  // namespace saddle::data
