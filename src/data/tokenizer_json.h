// A SentencePiece model as tokenizer.json, the file that Hugging Face's tokenizers library reads.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "data/sentencepiece_model.h"

namespace saddle::data {

// Why no tokenizer.json gives the ids of this model, or nothing when one can.
std::optional<std::string> without_tokenizer_json(const SentencePieceModel& model);

// The tokenizer.json with which every text has the ids of SentencePiece, when special tokens
// written out in a text are read as text (encode_special_tokens; split_special_tokens in
// Transformers). The libraries set two limits: a unigram model may divide a text in another way
// that is equally probable up to SentencePiece's float rounding, and a table of replaced characters
// (precompiled_charsmap) is applied to whole graphemes there, so that marks after a replaced
// character may be lost. The model must be one that without_tokenizer_json does not refuse.
Json tokenizer_json(const SentencePieceModel& model);

}  // namespace saddle::data
