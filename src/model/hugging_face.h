// The layout of a Llama model for Hugging Face's Transformers: the names of its tensors and its
// config.json (LlamaForCausalLM). Rope pairs i with i + head_dim/2 there as well, so q and k are
// the same matrices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backend/tensor.h"
#include "base/files.h"
#include "base/json.h"
#include "config/settings.h"

namespace saddle::model {

// The tokenizer of a folder; an id of -1 means that there is no such piece.
struct HuggingFaceTokenizer {
  Path model_file;  // SentencePiece
  int64_t bos_id = -1, eos_id = -1, unk_id = -1;
  std::string bos_piece, eos_piece, unk_piece;
  std::optional<Json> tokenizer_json;  // the same tokenizer for the tokenizers library
};

// Returns the name for a canonical parameter name: model.embed_tokens.weight for embedding.weight.
std::string hugging_face_name(std::string_view canonical);

// Returns the config.json of a model with tied embeddings. Without a tokenizer the ids of bos and
// eos are null.
Json hugging_face_config(const config::ModelSettings& model, const HuggingFaceTokenizer* tokenizer);

// Returns the settings of the model that a config.json describes; `where` names it in messages.
// Errors: kData, with the field, its value and the allowed ones, for models that saddle cannot run
// (grouped keys, scaled rope, biases, other activations, ...), for unknown fields about rope, and
// for contradictory fields. The caller checks whether the embedding is tied.
config::ModelSettings settings_from_hugging_face(const Json& config, std::string_view where);

// Writes the folder: config.json, generation_config.json, model.safetensors (float32, the embedding
// once, no lm_head), and with a tokenizer also tokenizer.model, tokenizer_config.json and, if the
// tokenizer has one, tokenizer.json. The folder appears complete or not at all. `weights` are those
// of one worker. Errors: kConfig if `directory` exists and is not empty; kIo.
void export_hugging_face(const Path& directory, const config::ModelSettings& model,
                         const backend::Arena<float>& weights,
                         const HuggingFaceTokenizer* tokenizer);

}  // namespace saddle::model
