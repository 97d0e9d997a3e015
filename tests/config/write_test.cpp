#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/json.h"
#include "config/fields.h"
#include "config/options.h"
#include "config/recipe.h"
#include "config/settings_text.h"
#include "support/expect_error.h"

namespace saddle::config {
namespace {

// Every setting different from its default, with numbers whose short forms are not trivial.
Settings unusual_settings() {
  Settings s;
  s.model = {.vocab_size = 65536,
             .context_length = 2048,
             .layers = 3,
             .width = 66,
             .heads = 3,
             .ffn_width = 7,
             .norm_eps = 0.1 + 0.2,
             .rope_theta = 1.0 / 3.0};
  s.data = {.cache = "null",
            .source = {"a \"b\" \\ \n\t\x01\x7f: # '\u00e4\U0001f600"},
            .validation_source = {"null", "[1]", "a, b"},
            .dataset = "null",
            .revision = "v1",
            .base_url = "http://127.0.0.1:8000",
            .download_dir = "./~",
            .tokenizer = " 12 ",
            .shard_tokens = 1000,
            .shuffle_buffer = 1,
            .shuffle_seed = INT64_MAX,
            .prepare_workers = 3,
            .prepare_train_tokens = 5,
            .prepare_validation_tokens = 6,
            .buffer_size_mib = 1,
            .prefetch = false};
  s.training = {.tokens_per_parameter = 5e-324,
                .epoch_tokens_per_parameter = 1e6,
                .max_tokens = 1000000000000000,
                .epoch_tokens = 2,
                .batch_tokens = 3,
                .micro_batch_size = 4,
                .log_every = 5,
                .checkpoint_policy = CheckpointPolicy::kExplicit,
                .checkpoint_epochs = {1, 2, 30},
                .checkpoint_every = 6};
  s.optimizer = {.lr = 1.7976931348623157e308,
                 .beta1 = 0.99999999999999989,
                 .beta2 = 0,
                 .eps = 1.0000000000000001e-30,
                 .weight_decay = 123456789012345680.0,
                 .grad_clip = std::nullopt,
                 .warmup_fraction = 1,
                 .min_lr_ratio = 1e-7};
  s.decentralized = {.num_models = 3,
                     .topology = Topology::kOnePeerRing,
                     .scheme = Scheme::kAdaptThenCombine,
                     .adaptive_consensus = {.start_frac = 0.25, .p = 2.0 / 3.0}};
  s.evaluation = {.subset_blocks = 1, .seed = 2, .batch_size = 3};
  s.runtime = {.seed = 0,
               .device = Device::kCpu,
               .dtype = Precision::kFloat64,
               .amp = true,
               .compile = false,
               .compile_mode = CompileMode::kMaxAutotune,
               .sdpa_backend = SdpaBackend::kCudnn,
               .threads = 7,
               .output_dir = "./~",
               .telemetry = true};
  return s;
}

TEST(Yaml, ReadsBackToTheSameSettings) {
  EXPECT_EQ(from_yaml(to_yaml(Settings{})), Settings{});
  EXPECT_EQ(from_yaml(to_yaml(unusual_settings())), unusual_settings());
  Settings one = unusual_settings();
  one.training.checkpoint_epochs = {4};
  EXPECT_EQ(from_yaml(to_yaml(one)), one);
}

TEST(Yaml, ContainsEverySettingAndTheTestAboveChangesEach) {
  const std::string text = to_yaml(Settings{});
  for (const Field& field : setting_fields()) {
    const std::string name = field.name.substr(field.name.find('.') + 1);  // in a group: its end
    EXPECT_NE(text.find("  " + name + ": "), std::string::npos) << field.key();
    EXPECT_NE(field.write(Settings{}), field.write(unusual_settings())) << field.key();
  }
}

TEST(Yaml, NumbersAreShort) {
  EXPECT_EQ(yaml_text(1e-3), "0.001");
  EXPECT_EQ(yaml_text(1e-8), "1.0e-08");
  EXPECT_EQ(yaml_text(0.1), "0.1");
  EXPECT_EQ(yaml_text(20.0), "20.0");
  EXPECT_EQ(yaml_text(20), "20");
  EXPECT_EQ(yaml_text({1, 2}), "[1, 2]");
  EXPECT_EQ(yaml_text(nullptr), "null");
}

TEST(Fields, AreNamedOnceAndDescribed) {
  std::set<std::string> keys;
  for (const Field& field : setting_fields()) {
    EXPECT_TRUE(keys.insert(field.key()).second) << field.key();
    EXPECT_FALSE(field.meaning.empty()) << field.key();
    EXPECT_FALSE(field.allowed.empty()) << field.key();
    EXPECT_EQ((field.meaning + field.allowed).find_first_of("|\n"), std::string::npos)
        << field.key() << ": would break the table of docs/options.md";
  }
  // A setting without a row would be lost in resolved.yaml: one that is not written reads back as
  // its default, which ReadsBackToTheSameSettings sees only if unusual_settings changes it.
  EXPECT_EQ(keys.size(), 8u + 16u + 10u + 8u + 5u + 3u + 10u);
}

TEST(Recipe, ContainsWhatDecidesTheNumbers) {
  const Json keys = recipe(Settings{});
  for (const char* key : {"model.vocab_size",
                          "model.layers",
                          "model.norm_eps",
                          "data.buffer_size_mib",
                          "training.tokens_per_parameter",
                          "training.max_tokens",
                          "training.batch_tokens",
                          "training.micro_batch_size",
                          "optimizer.lr",
                          "optimizer.grad_clip",
                          "evaluation.seed",
                          "evaluation.subset_blocks",
                          "decentralized.num_models",
                          "decentralized.topology",
                          "decentralized.scheme",
                          "decentralized.adaptive_consensus.start_frac",
                          "decentralized.adaptive_consensus.p",
                          "runtime.seed",
                          "runtime.dtype",
                          "runtime.amp"}) {
    EXPECT_TRUE(keys.contains(key)) << key;
  }
  for (const char* key : {"data.cache",
                          "data.source",
                          "data.validation_source",
                          "data.dataset",
                          "data.revision",
                          "data.tokenizer",
                          "data.prefetch",
                          "data.prepare_workers",
                          "training.log_every",
                          "training.checkpoint_policy",
                          "training.checkpoint_epochs",
                          "training.checkpoint_every",
                          "evaluation.batch_size",
                          "runtime.device",
                          "runtime.threads",
                          "runtime.compile",
                          "runtime.compile_mode",
                          "runtime.sdpa_backend",
                          "runtime.output_dir",
                          "runtime.telemetry"}) {
    EXPECT_FALSE(keys.contains(key)) << key;
  }
  EXPECT_EQ(keys["runtime.dtype"], "float32");
  EXPECT_EQ(keys["optimizer.lr"], 1e-3);
  EXPECT_TRUE(keys["training.max_tokens"].is_null());
}

TEST(Write, ALoginInAUrlIsLeftOut) {
  const Settings settings = with_overrides({"data.base_url=https://me:secret@host/mirror"});
  EXPECT_EQ(settings.data.base_url, "https://me:secret@host/mirror");
  EXPECT_EQ(from_yaml(to_yaml(settings)).data.base_url, "https://host/mirror");
  EXPECT_EQ(to_json(settings)["data.base_url"], "https://host/mirror");
}

TEST(Recipe, DifferencesAreNamed) {
  const Json plain = recipe(Settings{});
  EXPECT_TRUE(differing_fields(plain, plain).empty());
  const Json changed = recipe(with_overrides({"optimizer.grad_clip=null", "model.layers=9",
                                              "runtime.dtype=float64", "runtime.threads=3"}));
  const std::vector<std::string> expected = {"model.layers", "optimizer.grad_clip",
                                             "runtime.dtype"};
  EXPECT_EQ(differing_fields(plain, changed), expected);

  // Through text, as in a state file, in any order.
  EXPECT_TRUE(differing_fields(plain, parse_json(canonical_json(plain), "text")).empty());
  const Json unusual = recipe(unusual_settings());
  EXPECT_TRUE(differing_fields(unusual, parse_json(canonical_json(unusual), "text")).empty());

  // An exponent of 1 may be left out; without a start there is none.
  Settings adaptive;
  adaptive.decentralized.adaptive_consensus.start_frac = 0.5;
  const Json omitted = recipe(adaptive);
  adaptive.decentralized.adaptive_consensus.p = 1.0;
  EXPECT_TRUE(differing_fields(omitted, recipe(adaptive)).empty());
  adaptive.decentralized.adaptive_consensus.p = 2.0;
  EXPECT_EQ(differing_fields(omitted, recipe(adaptive)),
            std::vector<std::string>{"decentralized.adaptive_consensus.p"});
  EXPECT_TRUE(plain["decentralized.adaptive_consensus.p"].is_null());

  // A key that only one of them has differs, even when its value is null.
  Json more = plain;
  more["data.identity"] = nullptr;
  EXPECT_EQ(differing_fields(plain, more), std::vector<std::string>{"data.identity"});
  EXPECT_EQ(differing_fields(more, plain), std::vector<std::string>{"data.identity"});
}

TEST(Options, ThePageInDocsIsUpToDate) {
  EXPECT_EQ(read_file(Path(SADDLE_SOURCE_DIR) / "docs/options.md"), options_markdown())
      << "regenerate it: saddle options > docs/options.md";
}

}  // namespace
}  // namespace saddle::config
