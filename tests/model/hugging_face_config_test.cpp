// Fields of a config.json other than the sizes of the model.
#include <gtest/gtest.h>

#include "model/hugging_face.h"
#include "support/expect_error.h"

namespace saddle::model {
namespace {

constexpr config::ModelSettings kSmall{.vocab_size = 11,
                                       .context_length = 20,
                                       .layers = 2,
                                       .width = 8,
                                       .heads = 2,
                                       .ffn_width = 6,
                                       .norm_eps = 1e-6,
                                       .rope_theta = 50000};

// Returns the config.json of kSmall with the fields of `changes`; null removes a field.
Json changed(const Json& changes) {
  Json config = hugging_face_config(kSmall, nullptr);
  for (const auto& [key, value] : changes.items()) {
    config.erase(key);
    if (!value.is_null()) config[key] = value;
  }
  return config;
}

struct Case {
  const char* changes;
  std::vector<std::string> message;
};

void expect_refused(const std::vector<Case>& cases) {
  for (const Case& row : cases) {
    SCOPED_TRACE(row.changes);
    expect_error(ErrorKind::kData, row.message,
                 [&] { settings_from_hugging_face(changed(Json::parse(row.changes)), "it"); });
  }
}

TEST(HuggingFaceConfig, EverythingAboutRopeIsUnderstoodOrRefusedByName) {
  expect_refused({
      {R"({"partial_rotary_factor": 0.5})", {"it: partial_rotary_factor is 0.5"}},
      {R"({"rotary_pct": 0.25})", {"it: rotary_pct is 0.25"}},
      {R"({"rotary_emb_base": 10000})", {"it: rotary_emb_base is 10000", "50000"}},
      {R"({"rotary_emb_base": 50000, "rope_theta": null, "rope_parameters": null})",
       {"rotary_emb_base is 50000", "10000"}},
      {R"({"rotary_dim": 2})", {"it: rotary_dim is 2", "only 4"}},
      {R"({"rope_interleaved": true})", {"it: rope_interleaved is true"}},
      {R"({"no_rope_layers": [1, 0]})", {"it: no_rope_layers is [1,0]"}},
      {R"({"rope_local_base_freq": 10000.0})", {"it: rope_local_base_freq"}},
      {R"({"rope_ratio": 1})", {"it: rope_ratio"}},
      {R"({"alibi": true})", {"it: alibi is true"}},
      {R"({"ROPE_SCALE": 2})", {"it: ROPE_SCALE is 2"}},
      {R"({"text_config": {"rope_theta": 5}})", {"it: text_config"}},
      {R"({"use_alibi": true})", {"it: use_alibi is true"}},
      {R"({"use_dynamic_ntk": true})", {"it: use_dynamic_ntk is true"}},
      {R"({"position_embedding_type": "absolute"})", {"it: position_embedding_type"}},
      {R"({"original_max_position_embeddings": 10})", {"original_max_position_embeddings is 10"}},
      {R"({"rope_scaling": {"factor": 2.0}})", {"it: rope_scaling: factor is 2.0"}},
      {R"({"rope_scaling": {"type": null, "factor": 2.0}})", {"rope_scaling: factor is 2.0"}},
      {R"({"rope_scaling": {"rope_type": "default", "attention_factor": 0.5}})",
       {"rope_scaling: attention_factor is 0.5"}},
      {R"({"rope_scaling": {"mrope_section": [1, 1, 2]}})", {"rope_scaling: mrope_section"}},
      {R"({"rope_scaling": "linear"})", {"rope_scaling is \"linear\"", "an object"}},
      {R"({"rope_scaling": {"rope_type": "default", "type": "yarn"}})", {"type is \"yarn\""}},
      {R"({"rope_parameters": {"full_attention": {"rope_theta": 50000.0}}})",
       {"it: rope_parameters: full_attention is {"}},
      {R"({"rope_parameters": {"rope_theta": 50000.0, "partial_rotary_factor": 0.5}})",
       {"rope_parameters: partial_rotary_factor is 0.5"}},
      {R"({"rope_parameters": {"rope_theta": "50000"}})", {"rope_theta is \"50000\"", "positive"}},
      {R"({"rope_theta": null, "rope_scaling": {"rope_theta": 7}})",
       {"rope_scaling: rope_theta is 7", "it: rope_parameters it is 50000"}},
  });
  for (const char* plain : {
           R"({"partial_rotary_factor": 1.0, "rotary_pct": 1, "rotary_emb_base": 50000})",
           R"({"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 1.0}})",
           R"({"rope_scaling": null})",
           R"({"rope_scaling": {}})",
           R"({"rope_scaling": {"type": "default", "factor": 1.0}})",
           R"({"rotary_dim": 4, "rope_interleaved": false, "alibi": false})",
           R"({"original_max_position_embeddings": 20})",
           R"({"task_properties": {"rope": 1}})",
       }) {
    EXPECT_EQ(settings_from_hugging_face(changed(Json::parse(plain)), "it"), kSmall) << plain;
  }
}

TEST(HuggingFaceConfig, FieldsThatChangeTheModelAreRefused) {
  expect_refused({
      {R"({"qk_norm": true})", {"it: qk_norm is true", "only false"}},
      {R"({"logit_scale": 0.0625})", {"it: logit_scale is 0.0625"}},
      {R"({"logits_scaling": 8.0})", {"it: logits_scaling is 8.0"}},
      {R"({"embedding_multiplier": 12.0})", {"it: embedding_multiplier"}},
      {R"({"residual_multiplier": 0.22})", {"it: residual_multiplier"}},
      {R"({"attention_multiplier": 0.1})", {"it: attention_multiplier is 0.1", "without"}},
      {R"({"final_logit_softcapping": 30.0})", {"it: final_logit_softcapping"}},
      {R"({"attn_logit_softcapping": 50.0})", {"it: attn_logit_softcapping"}},
      {R"({"query_pre_attn_scalar": 256})", {"it: query_pre_attn_scalar", "only 4"}},
      {R"({"clip_qkv": 8.0})", {"it: clip_qkv"}},
      {R"({"sliding_window": 8})", {"it: sliding_window is 8", "(20)"}},
      {R"({"layer_types": ["full_attention", "sliding_attention"]})", {"it: layer_types"}},
      {R"({"num_local_experts": 8})", {"it: num_local_experts is 8"}},
      {R"({"qkv_bias": true})", {"it: qkv_bias is true"}},
      {R"({"hidden_activation": "gelu"})", {"it: hidden_activation"}},
      {R"({"use_parallel_residual": true})", {"it: use_parallel_residual"}},
      {R"({"auto_map": {"AutoModel": "other.Model"}})", {"it: auto_map"}},
  });
  for (const char* plain : {
           R"({"qk_norm": false, "logit_scale": 1.0, "attn_logit_softcapping": null})",
           R"({"sliding_window": null, "use_sliding_window": false})",
           R"({"sliding_window": 20, "layer_types": ["full_attention", "full_attention"]})",
           R"({"attention_dropout": 0.1, "pretraining_tp": 2, "transformers_version": "5.0"})",
       }) {
    EXPECT_EQ(settings_from_hugging_face(changed(Json::parse(plain)), "it"), kSmall) << plain;
  }
}

}  // namespace
}  // namespace saddle::model
