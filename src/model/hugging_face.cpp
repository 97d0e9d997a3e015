// Names and config.json, in both directions.
#include "model/hugging_face.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/fields.h"
#include "model/hugging_face_fields.h"
#include "model/hugging_face_rope.h"

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

// Fields of other architectures in Transformers, and of models derived from Llama, that change the
// computation; each with the value for which the model is still a Llama. Fields that only concern
// training (dropout, initializer_range) or execution in Transformers are ignored.
std::vector<std::pair<std::string_view, Json>> plain_fields(const config::ModelSettings& model) {
  return {{"hidden_act", "silu"},
          {"hidden_activation", "silu"},
          {"attention_bias", false},
          {"attention_out_bias", false},
          {"mlp_bias", false},
          {"use_bias", false},
          {"bias", false},
          {"qkv_bias", false},
          {"use_qkv_bias", false},
          {"lm_head_bias", false},
          {"qk_norm", false},
          {"use_qk_norm", false},
          {"qk_layernorm", false},
          {"use_parallel_residual", false},
          {"parallel_attn", false},
          {"use_sliding_window", false},
          {"is_causal", true},
          {"is_encoder_decoder", false},
          {"add_cross_attention", false},
          {"num_local_experts", 1},
          {"num_experts", 1},
          {"n_routed_experts", 1},
          {"logit_scale", 1},
          {"logits_scaling", 1},
          {"lm_head_multiplier", 1},
          {"embedding_multiplier", 1},
          {"scale_emb", 1},
          {"residual_multiplier", 1},
          {"dim_model_base", model.width},
          {"query_pre_attn_scalar", model.head_dim()}};
}

// Fields whose presence changes the computation.
constexpr std::array<const char*, 12> kForeignFields{"text_config",
                                                     "vision_config",
                                                     "audio_config",
                                                     "attention_multiplier",
                                                     "final_logit_softcapping",
                                                     "attn_logit_softcapping",
                                                     "logit_soft_cap",
                                                     "scale_depth",
                                                     "clip_qkv",
                                                     "kv_lora_rank",
                                                     "q_lora_rank",
                                                     "auto_map"};

void check_plain_llama(const HuggingFaceFields& fields, const config::ModelSettings& model) {
  for (const auto& [name, value] : plain_fields(model)) fields.only(name, value);
  for (const char* name : kForeignFields) {
    if (fields.has(name)) fields.refuse(name, "models without this field");
  }
  if (fields.has("quantization_config")) {
    fields.refuse("quantization_config", "weights that are not quantized");
  }
  if (fields.has("sliding_window") && fields.size("sliding_window", 0) < model.context_length) {
    fields.refuse("sliding_window", fmt::format("a window over all of max_position_embeddings ({})",
                                                model.context_length));
  }
  if (!fields.has("layer_types")) return;
  const Json& types = fields.at("layer_types");
  if (!types.is_array() ||
      !std::ranges::all_of(types, [](const Json& type) { return type == "full_attention"; })) {
    fields.refuse("layer_types", "\"full_attention\" in all layers");
  }
}

// Settings from a config.json must be in their ranges, like all others.
void check_ranges(const config::ModelSettings& model, std::string_view where) {
  config::Settings settings;
  settings.model = model;
  for (const config::Field& field : config::setting_fields()) {
    if (field.section != "model") continue;
    const std::string text = config::yaml_text(field.write(settings));
    config::Settings taken;
    if (!field.read({.kind = config::Value::Kind::kPlain, .text = text}, taken)) {
      fail(ErrorKind::kData, "{}: {} would be {}, but must be {}", where, field.key(), text,
           field.allowed);
    }
  }
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
  if (!config.is_object()) fail(ErrorKind::kData, "{}: expected an object", where);
  const HuggingFaceFields fields(config, where);
  if (!fields.has("model_type")) fields.refuse("model_type", "\"llama\"");
  fields.only("model_type", "llama");
  if (fields.has("architectures") &&
      fields.at("architectures") != Json::array({"LlamaForCausalLM"})) {
    fields.refuse("architectures", "[\"LlamaForCausalLM\"]");
  }

  config::ModelSettings model;
  model.vocab_size = fields.size("vocab_size");
  model.width = fields.size("hidden_size");
  model.ffn_width = fields.size("intermediate_size");
  model.layers = fields.size("num_hidden_layers");
  model.heads = fields.size("num_attention_heads");
  model.context_length = fields.size("max_position_embeddings", 2048);
  model.norm_eps = fields.positive("rms_norm_eps", 1e-6);
  if (fields.size("num_key_value_heads", model.heads) != model.heads) {
    fields.refuse(
        "num_key_value_heads",
        fmt::format("num_attention_heads ({}), without grouped keys and values", model.heads));
  }
  if (model.width % model.heads != 0 || model.head_dim() % 2 != 0) {
    fields.refuse("hidden_size",
                  fmt::format("multiples of 2 * num_attention_heads (2 * {})", model.heads));
  }
  if (fields.size("head_dim", model.head_dim()) != model.head_dim()) {
    fields.refuse("head_dim",
                  fmt::format("hidden_size / num_attention_heads ({})", model.head_dim()));
  }
  check_plain_llama(fields, model);
  model.rope_theta = rope_theta_of(fields, model.head_dim());
  check_ranges(model, where);
  return model;
}

}  // namespace saddle::model
