// Writes a folder in the Hugging Face layout.
#include <filesystem>

#include "base/staged_directory.h"
#include "model/hugging_face.h"
#include "model/safetensors.h"
#include "model/weights_file.h"

namespace saddle::model {
namespace {

// The tokenizer produces exactly the pieces of SentencePiece and adds no bos: training separates
// documents by eos and uses no bos. Names of special tokens in a text are read as text, as in
// saddle. Transformers 5 gives a LlamaTokenizer another normalizer than tokenizer.json specifies,
// so if that file exists, the general class is named.
Json tokenizer_config(const config::ModelSettings& model, const HuggingFaceTokenizer& tokenizer) {
  const auto piece = [](int64_t id, const std::string& text) {
    return id >= 0 ? Json(text) : Json(nullptr);
  };
  return {
      {"tokenizer_class", tokenizer.tokenizer_json ? "PreTrainedTokenizerFast" : "LlamaTokenizer"},
      {"bos_token", piece(tokenizer.bos_id, tokenizer.bos_piece)},
      {"eos_token", piece(tokenizer.eos_id, tokenizer.eos_piece)},
      {"unk_token", piece(tokenizer.unk_id, tokenizer.unk_piece)},
      {"pad_token", nullptr},
      {"add_bos_token", false},
      {"add_eos_token", false},
      {"split_special_tokens", true},
      {"legacy", true},
      {"clean_up_tokenization_spaces", false},
      {"model_input_names", Json::array({"input_ids", "attention_mask"})},
      {"model_max_length", model.context_length},
      {"sp_model_kwargs", Json::object()}};
}

void write_weights(const Path& path, const backend::Arena<float>& weights) {
  std::vector<TensorEntry> entries = arena_entries(weights.layout(), "", "F32");
  for (TensorEntry& entry : entries) entry.name = hugging_face_name(entry.name);
  SafetensorsWriter writer(path, entries, {{"format", "pt"}});
  write_arena<float>(writer, "", weights, 0);
  writer.commit();
}

}  // namespace

void export_hugging_face(const Path& directory, const config::ModelSettings& model,
                         const backend::Arena<float>& weights,
                         const HuggingFaceTokenizer* tokenizer) {
  StagedDirectory folder(directory);
  const Json config = hugging_face_config(model, tokenizer);
  write_json(folder.path() / "config.json", config);
  write_json(folder.path() / "generation_config.json",
             {{"bos_token_id", config["bos_token_id"]}, {"eos_token_id", config["eos_token_id"]}});
  if (tokenizer != nullptr) {
    write_file_atomically(folder.path() / "tokenizer.model", read_file(tokenizer->model_file));
    write_json(folder.path() / "tokenizer_config.json", tokenizer_config(model, *tokenizer));
    if (tokenizer->tokenizer_json) {
      write_exact_json(folder.path() / "tokenizer.json", *tokenizer->tokenizer_json);
    }
  }
  write_weights(folder.path() / "model.safetensors", weights);
  folder.publish();
}

}  // namespace saddle::model
