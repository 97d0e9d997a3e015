// The fields of a SentencePiece model file. The library encodes with a model, but its
// public interface does not show the trainer's and the normalizer's settings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace saddle::data {

struct SentencePieceModel {
  // Numbers as in the file (sentencepiece_model.proto of google/sentencepiece).
  enum class PieceType { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
  enum class Kind { kUnigram = 1, kBpe, kWord, kChar };

  struct Piece {
    std::string text;
    float score = 0;
    PieceType type = PieceType::kNormal;
  };

  std::vector<Piece> pieces;  // by id
  Kind kind = Kind::kUnigram;
  bool byte_fallback = false;
  bool treat_whitespace_as_suffix = false;
  std::string precompiled_charsmap;  // replacements of characters; empty: none
  std::string decoding_charsmap;     // the same for the text decoded from ids
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

// Reads the bytes of a model file. Fields that are not named above are ignored. Errors: kData,
// naming `where`, when the bytes are truncated or are not such a message.
SentencePieceModel read_sentencepiece_model(std::string_view bytes, std::string_view where);

}  // namespace saddle::data
