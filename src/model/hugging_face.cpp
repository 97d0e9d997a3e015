// Names and config.json, both ways.
#include "model/hugging_face.h"

#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace saddle::model {
namespace {

// The parts of a block: ours, theirs.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kBlockNames{{
    {"attention_norm.weight", "input_layernorm.weight"},
    {"attention.q_proj.weight", "self_attn.q_proj.weight"},
    {"attention.k_proj.weight", "self_attn.k_proj.weight"},
    {"attention.v_proj.weight", "self_attn.v_proj.weight"},
    {"attention.out_proj.weight", "self_attn.o_proj.weight"},
    {"ffn_norm.weight", "post_attention_layernorm.weight"},
    {"ffn.gate_proj.weight", "mlp.gate_proj.weight"},
    {"ffn.up_proj.weight", "mlp.up_proj.weight"},
    {"ffn.down_proj.weight", "mlp.down_proj.weight"},
}};

// Reads the fields of a config.json. A field that is missing or null has its default.
class Fields {
 public:
  Fields(const Json& json, std::string_view where) : json_(json), where_(where) {}

  bool has(const char* name) const { return json_.contains(name) && !json_[name].is_null(); }
  const Json& at(const char* name) const { return json_[name]; }

  [[noreturn]] void refuse(std::string_view name, std::string_view allowed) const {
    fail(ErrorKind::kData, "{}: {} is {}, but saddle reads {}", where_, name,
         json_.contains(name) ? json_[std::string(name)].dump() : "missing", allowed);
  }

  int64_t size(const char* name) const {
    if (!has(name)) refuse(name, "models that say it");
    return size(name, 0);
  }
  int64_t size(const char* name, int64_t missing) const {
    if (!has(name)) return missing;
    if (!at(name).is_number_integer() || at(name) < 1) refuse(name, "a positive integer there");
    return at(name).get<int64_t>();
  }
  double positive(const char* name, double missing) const {
    if (!has(name)) return missing;
    if (!at(name).is_number() || !(at(name).get<double>() > 0)) {
      refuse(name, "a positive number there");
    }
    return at(name).get<double>();
  }
  // Refuses any value but `allowed`, which is also the default.
  void only(const char* name, const Json& allowed) const {
    if (has(name) && at(name) != allowed) refuse(name, allowed.dump() + " alone");
  }

 private:
  const Json& json_;
  std::string_view where_;
};

// rope_theta stands at the top level or, in newer files, under rope_parameters; both kinds may
// also hold a scaling of the angles.
double rope_theta(const Json& config, const Fields& fields, std::string_view where) {
  const bool top = fields.has("rope_theta");
  double theta = fields.positive("rope_theta", 10000);
  for (const char* name : {"rope_parameters", "rope_scaling"}) {
    if (!fields.has(name)) continue;
    const std::string inside = fmt::format("{}: {}", where, name);
    if (!fields.at(name).is_object()) fields.refuse(name, "an object there");
    const Fields rope(fields.at(name), inside);
    rope.only("rope_type", "default");
    rope.only("type", "default");
    rope.only("partial_rotary_factor", 1.0);
    const double found = rope.positive("rope_theta", theta);
    if (top && found != theta) {
      fail(ErrorKind::kData, "{}: rope_theta is {}, but at the top level it is {}", inside, found,
           config["rope_theta"].dump());
    }
    theta = found;
  }
  return theta;
}

}  // namespace

std::string hugging_face_name(std::string_view canonical) {
  if (canonical == "embedding.weight") return "model.embed_tokens.weight";
  if (canonical == "norm.weight") return "model.norm.weight";
  constexpr std::string_view kBlocks = "blocks.";
  const size_t dot = canonical.find('.', kBlocks.size());
  if (canonical.starts_with(kBlocks) && dot != std::string_view::npos) {
    const std::string_view number = canonical.substr(kBlocks.size(), dot - kBlocks.size());
    for (const auto& [ours, theirs] : kBlockNames) {
      if (canonical.substr(dot + 1) == ours) {
        return fmt::format("model.layers.{}.{}", number, theirs);
      }
    }
  }
  fail(ErrorKind::kInternal, "the parameter {} has no name in the Hugging Face layout", canonical);
}

Json hugging_face_config(const config::ModelSettings& model,
                         const HuggingFaceTokenizer* tokenizer) {
  const auto id = [&](int64_t HuggingFaceTokenizer::*which) {
    return tokenizer != nullptr && tokenizer->*which >= 0 ? Json(tokenizer->*which) : Json(nullptr);
  };
  return {{"architectures", Json::array({"LlamaForCausalLM"})},
          {"model_type", "llama"},
          {"vocab_size", model.vocab_size},
          {"hidden_size", model.width},
          {"intermediate_size", model.ffn_width},
          {"num_hidden_layers", model.layers},
          {"num_attention_heads", model.heads},
          {"num_key_value_heads", model.heads},
          {"head_dim", model.head_dim()},
          {"max_position_embeddings", model.context_length},
          {"hidden_act", "silu"},
          {"rms_norm_eps", model.norm_eps},
          {"rope_theta", model.rope_theta},
          {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", model.rope_theta}}},
          {"tie_word_embeddings", true},
          {"attention_bias", false},
          {"attention_dropout", 0.0},
          {"mlp_bias", false},
          {"initializer_range", 0.02},
          {"bos_token_id", id(&HuggingFaceTokenizer::bos_id)},
          {"eos_token_id", id(&HuggingFaceTokenizer::eos_id)},
          {"torch_dtype", "float32"},
          {"dtype", "float32"},
          {"use_cache", true}};
}

// Defaults of fields that are missing: those of Transformers' LlamaConfig.
config::ModelSettings settings_from_hugging_face(const Json& config, std::string_view where) {
  if (!config.is_object()) fail(ErrorKind::kData, "{}: an object was expected", where);
  const Fields fields(config, where);
  if (!fields.has("model_type")) fields.refuse("model_type", "\"llama\" alone");
  fields.only("model_type", "llama");
  if (fields.has("architectures") &&
      fields.at("architectures") != Json::array({"LlamaForCausalLM"})) {
    fields.refuse("architectures", "[\"LlamaForCausalLM\"] alone");
  }
  fields.only("hidden_act", "silu");
  fields.only("attention_bias", false);
  fields.only("mlp_bias", false);
  if (fields.has("quantization_config")) {
    fields.refuse("quantization_config", "weights that are not quantized");
  }

  config::ModelSettings model;
  model.vocab_size = fields.size("vocab_size");
  model.width = fields.size("hidden_size");
  model.ffn_width = fields.size("intermediate_size");
  model.layers = fields.size("num_hidden_layers");
  model.heads = fields.size("num_attention_heads");
  model.context_length = fields.size("max_position_embeddings", 2048);
  model.norm_eps = fields.positive("rms_norm_eps", 1e-6);
  model.rope_theta = rope_theta(config, fields, where);
  if (fields.size("num_key_value_heads", model.heads) != model.heads) {
    fields.refuse("num_key_value_heads",
                  fmt::format("as many as num_attention_heads ({}): no grouped keys and values",
                              model.heads));
  }
  if (model.width % (2 * model.heads) != 0) {
    fields.refuse("hidden_size",
                  fmt::format("a multiple of 2 * num_attention_heads ({})", 2 * model.heads));
  }
  if (fields.size("head_dim", model.head_dim()) != model.head_dim()) {
    fields.refuse("head_dim",
                  fmt::format("hidden_size / num_attention_heads ({})", model.head_dim()));
  }
  return model;
}

}  // namespace saddle::model
