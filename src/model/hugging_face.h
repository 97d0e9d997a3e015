// The layout in which Hugging Face's Transformers keeps a Llama model: the names of its tensors and
// its config.json (LlamaForCausalLM). Its rope, too, pairs i with i + head_dim/2, so that q and k
// are the same matrices there.
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

// What a folder says about its tokenizer; ids of -1 are not there.
struct HuggingFaceTokenizer {
  Path model_file;  // SentencePiece
  int64_t bos_id = -1, eos_id = -1, unk_id = -1;
  std::string bos_piece, eos_piece, unk_piece;
  std::optional<Json> tokenizer_json;  // the same tokenizer for the tokenizers library
};

// The name there of a canonical parameter name: embedding.weight is model.embed_tokens.weight.
std::string hugging_face_name(std::string_view canonical);

// config.json of a model with tied embeddings. Without a tokenizer the ids of bos and eos are null.
Json hugging_face_config(const config::ModelSettings& model, const HuggingFaceTokenizer* tokenizer);

// The settings of the model that a config.json describes; `where` names it in messages. What saddle
// cannot run (grouped keys, scaled rope, biases, other activations, ...) is an Error of kind kData
// that names the field, what it says and what is allowed; so is everything about rope that is not
// understood, and statements that contradict each other. Whether the embedding is tied is left to
// the caller.
config::ModelSettings settings_from_hugging_face(const Json& config, std::string_view where);

// Writes the folder: config.json, generation_config.json, model.safetensors (float32, the embedding
// once, no lm_head), and with a tokenizer tokenizer.model, tokenizer_config.json and, where the
// tokenizer has one, tokenizer.json. It appears whole or not at all. `weights` are of one worker.
// Errors: kConfig when `directory` exists and is not empty; kIo.
void export_hugging_face(const Path& directory, const config::ModelSettings& model,
                         const backend::Arena<float>& weights,
                         const HuggingFaceTokenizer* tokenizer);

}  // namespace saddle::model
