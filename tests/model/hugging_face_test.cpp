// Export to the Hugging Face layout, and import from it.
#include "model/hugging_face.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <bit>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "base/random.h"
#include "config/load.h"
#include "model/safetensors.h"
#include "model/weights_file.h"
#include "model/weights_import.h"
#include "support/child_process.h"
#include "support/directory_contents.h"
#include "support/expect_error.h"
#include "support/golden.h"
#include "support/temporary_directory.h"
#include "support/test_context.h"

namespace saddle::model {
namespace {

using ::testing::UnorderedElementsAre;

constexpr config::ModelSettings kLlama{.vocab_size = 11,
                                       .context_length = 20,
                                       .layers = 2,
                                       .width = 8,
                                       .heads = 2,
                                       .ffn_width = 6,
                                       .norm_eps = 1e-6,
                                       .rope_theta = 50000};

backend::Arena<float> random_weights(backend::Context& context) {
  backend::Arena<float> arena(context, Parameters(kLlama).layout, 1);
  const RandomStream random(3, RandomPurpose::kTest);
  std::vector<double> values(arena.layout().size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = random.normal(i);
  golden::parameters_from_host(values, arena);
  return arena;
}

// A folder exported from random weights, whose files a test may then change.
class HuggingFace : public ::testing::Test {
 protected:
  HuggingFace() { export_hugging_face(folder_, kLlama, weights_, &tokenizer()); }

  const HuggingFaceTokenizer& tokenizer() {
    tokenizer_.model_file = scratch_ / "some.model";
    write_file_atomically(tokenizer_.model_file, "pieces");
    return tokenizer_;
  }

  Json config() const { return read_json(folder_ / "config.json"); }
  void set(const std::string& key, const Json& value) const {
    Json changed = config();
    changed[key] = value;
    write_json(folder_ / "config.json", changed);
  }

  // Returns all tensors of the folder's file as stored, for tests that write others.
  struct Stored {
    TensorEntry entry;
    std::string bytes;
  };
  std::vector<Stored> stored() const {
    const SafetensorsReader reader(folder_ / "model.safetensors");
    std::vector<Stored> all;
    for (const TensorEntry& entry : reader.entries()) {
      std::string bytes(entry.bytes, '\0');
      reader.read(entry, 0, entry.bytes / element_bytes(entry.dtype), bytes.data());
      all.push_back({entry, bytes});
    }
    return all;
  }
  static void write(const Path& path, const std::vector<Stored>& tensors) {
    std::vector<TensorEntry> entries;
    for (const Stored& tensor : tensors) entries.push_back(tensor.entry);
    SafetensorsWriter writer(path, entries, {});
    for (const Stored& tensor : tensors) writer.write(tensor.bytes.data(), tensor.bytes.size());
    writer.commit();
  }

  void import_again() {
    std::filesystem::remove(imported_);
    import_weights(folder_, imported_);
  }
  void expect_refused(const std::vector<std::string>& parts) {
    expect_error(ErrorKind::kData, parts, [&] { import_again(); });
    EXPECT_FALSE(std::filesystem::exists(imported_));
  }
  void expect_same_weights(const Path& file) {
    backend::Arena<float> found(context_, weights_.layout(), 1);
    load_weights(file, kLlama, found);
    const auto a = golden::parameters_to_host(weights_), b = golden::parameters_to_host(found);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
      return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
    }));
  }

  TemporaryDirectory scratch_;
  Path folder_ = scratch_ / "folder";
  Path imported_ = scratch_ / "imported.safetensors";
  backend::Context context_ = test_context(1);
  backend::Arena<float> weights_ = random_weights(context_);
  HuggingFaceTokenizer tokenizer_{.model_file = {},
                                  .bos_id = 1,
                                  .eos_id = 2,
                                  .unk_id = 0,
                                  .bos_piece = "<s>",
                                  .eos_piece = "</s>",
                                  .unk_piece = "<unk>",
                                  .tokenizer_json = Json::parse(R"({"model": {}})")};
};

TEST_F(HuggingFace, TensorsHaveTheNamesAndShapesOfLlamaAndTheEmbeddingOnce) {
  std::map<std::string, std::vector<int64_t>> expected = {{"model.embed_tokens.weight", {11, 8}},
                                                          {"model.norm.weight", {8}}};
  for (const std::string block : {"model.layers.0.", "model.layers.1."}) {
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      expected[block + "self_attn." + name + ".weight"] = {8, 8};
    }
    expected[block + "mlp.gate_proj.weight"] = {6, 8};
    expected[block + "mlp.up_proj.weight"] = {6, 8};
    expected[block + "mlp.down_proj.weight"] = {8, 6};
    expected[block + "input_layernorm.weight"] = {8};
    expected[block + "post_attention_layernorm.weight"] = {8};
  }
  std::map<std::string, std::vector<int64_t>> found;
  for (const Stored& tensor : stored()) {
    found[tensor.entry.name] = tensor.entry.shape;
    EXPECT_EQ(tensor.entry.dtype, "F32");
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(SafetensorsReader(folder_ / "model.safetensors").metadata(),
            (std::map<std::string, std::string>{{"format", "pt"}}));
}

TEST_F(HuggingFace, EveryTensorHoldsItsOwnParameter) {
  const std::map<std::string, std::string> pairs = {
      {"model.embed_tokens.weight", "embedding.weight"},
      {"model.layers.1.input_layernorm.weight", "blocks.1.attention_norm.weight"},
      {"model.layers.1.self_attn.q_proj.weight", "blocks.1.attention.q_proj.weight"},
      {"model.layers.1.self_attn.k_proj.weight", "blocks.1.attention.k_proj.weight"},
      {"model.layers.1.self_attn.v_proj.weight", "blocks.1.attention.v_proj.weight"},
      {"model.layers.1.self_attn.o_proj.weight", "blocks.1.attention.out_proj.weight"},
      {"model.layers.1.post_attention_layernorm.weight", "blocks.1.ffn_norm.weight"},
      {"model.layers.1.mlp.gate_proj.weight", "blocks.1.ffn.gate_proj.weight"},
      {"model.layers.1.mlp.up_proj.weight", "blocks.1.ffn.up_proj.weight"},
      {"model.layers.1.mlp.down_proj.weight", "blocks.1.ffn.down_proj.weight"},
      {"model.norm.weight", "norm.weight"}};
  const tensor::Layout& layout = weights_.layout();
  for (const Stored& tensor : stored()) {
    const auto pair = pairs.find(tensor.entry.name);
    if (pair == pairs.end()) continue;  // of the other block
    const auto index = layout.find(pair->second) - layout.slots().data();
    const auto values = backend::to_host<float>(context_, weights_.view(static_cast<int>(index)));
    ASSERT_EQ(values.size() * sizeof(float), tensor.bytes.size()) << pair->first;
    EXPECT_EQ(std::memcmp(values.data(), tensor.bytes.data(), tensor.bytes.size()), 0)
        << pair->first;
  }
}

TEST_F(HuggingFace, ConfigDescribesTheModel) {
  const Json expected = Json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 11,
    "hidden_size": 8, "intermediate_size": 6, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 2, "head_dim": 4, "max_position_embeddings": 20, "hidden_act": "silu",
    "rms_norm_eps": 1e-06, "rope_theta": 50000.0,
    "rope_parameters": {"rope_type": "default", "rope_theta": 50000.0},
    "tie_word_embeddings": true, "attention_bias": false, "attention_dropout": 0.0,
    "mlp_bias": false, "initializer_range": 0.02, "bos_token_id": 1, "eos_token_id": 2,
    "torch_dtype": "float32", "dtype": "float32", "use_cache": true})");
  EXPECT_EQ(config(), expected);
  EXPECT_EQ(read_json(folder_ / "generation_config.json"),
            Json::parse(R"({"bos_token_id": 1, "eos_token_id": 2})"));
}

TEST_F(HuggingFace, TheFolderContainsTheTokenizer) {
  EXPECT_THAT(names_in(folder_),
              UnorderedElementsAre("config.json", "generation_config.json", "model.safetensors",
                                   "tokenizer.json", "tokenizer.model", "tokenizer_config.json"));
  EXPECT_EQ(read_file(folder_ / "tokenizer.model"), "pieces");
  const Json found = read_json(folder_ / "tokenizer_config.json");
  // The general class: Transformers 5 rebuilds a LlamaTokenizer with another normalizer.
  EXPECT_EQ(found.at("tokenizer_class"), "PreTrainedTokenizerFast");
  EXPECT_EQ(found.at("split_special_tokens"), true);
  EXPECT_EQ(found.at("model_input_names"), Json::parse(R"(["input_ids", "attention_mask"])"));
  EXPECT_EQ(read_json(folder_ / "tokenizer.json"), Json::parse(R"({"model": {}})"));
  EXPECT_EQ(found.at("bos_token"), "<s>");
  EXPECT_EQ(found.at("eos_token"), "</s>");
  EXPECT_EQ(found.at("unk_token"), "<unk>");
  EXPECT_EQ(found.at("add_bos_token"), false);
  EXPECT_EQ(found.at("model_max_length"), 20);

  tokenizer_.tokenizer_json.reset();  // for a model that it cannot express
  export_hugging_face(scratch_ / "model alone", kLlama, weights_, &tokenizer_);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "model alone" / "tokenizer.json"));
  EXPECT_EQ(read_json(scratch_ / "model alone" / "tokenizer_config.json").at("tokenizer_class"),
            "LlamaTokenizer");
}

TEST_F(HuggingFace, WithoutATokenizerItsIdsAreNull) {
  export_hugging_face(scratch_ / "bare", kLlama, weights_, nullptr);
  const Json config = read_json(scratch_ / "bare" / "config.json");
  EXPECT_TRUE(config.at("bos_token_id").is_null());
  EXPECT_TRUE(config.at("eos_token_id").is_null());
  EXPECT_THAT(names_in(scratch_ / "bare"),
              UnorderedElementsAre("config.json", "generation_config.json", "model.safetensors"));
}

TEST_F(HuggingFace, ImportGivesTheSameBitsAndTheSameModel) {
  const ImportedWeights found = import_weights(folder_, imported_);
  expect_same_weights(imported_);
  ASSERT_TRUE(found.model.has_value());
  EXPECT_EQ(*found.model, kLlama);
  EXPECT_EQ(found.tensors, 20);
  EXPECT_EQ(found.parameters, config::parameter_count(kLlama));
  EXPECT_THAT(found.dtypes, ::testing::ElementsAre("F32"));
  // A second export is the first, byte for byte.
  backend::Arena<float> again(context_, weights_.layout(), 1);
  load_weights(imported_, kLlama, again);
  export_hugging_face(scratch_ / "again", *found.model, again, nullptr);
  EXPECT_EQ(read_file(scratch_ / "again" / "model.safetensors"),
            read_file(folder_ / "model.safetensors"));
}

TEST_F(HuggingFace, TheSettingsFragmentDescribesTheModel) {
  config::ModelSettings model = kLlama;
  for (const int64_t context : {1, 20, 100, 1024, 2048, 5000, 131072}) {
    model.context_length = context;
    const Path file = scratch_ / fmt::format("settings-{}.yaml", context);
    write_file_atomically(file, settings_fragment(model));
    EXPECT_EQ(config::load_settings({file}, {}).model, model) << context;
  }
}

TEST_F(HuggingFace, ACanonicalFileKeepsItsModel) {
  import_again();
  const ImportedWeights again = import_weights(imported_, scratch_ / "again.safetensors");
  expect_same_weights(scratch_ / "again.safetensors");
  ASSERT_TRUE(again.model.has_value());
  EXPECT_EQ(*again.model, kLlama);
  EXPECT_EQ(read_file(imported_), read_file(scratch_ / "again.safetensors"));
}

// The tensors fit, but the note in the file does not.
TEST_F(HuggingFace, ACanonicalFileOfAnotherModelIsRefused) {
  import_again();
  backend::Arena<float> found(context_, weights_.layout(), 1);
  config::ModelSettings other = kLlama;
  other.heads = 1;
  other.rope_theta = 77;
  expect_error(ErrorKind::kData,
               {"imported.safetensors: weights of another model: model.heads (expected 1, found 2)",
                "model.rope_theta (expected 77.0, found "},
               [&] { load_weights(imported_, other, found); });
  // A file without a note says nothing about heads and theta.
  const Path bare = scratch_ / "bare.safetensors";
  save_weights<float>(bare, weights_, 0, {});
  load_weights(bare, other, found);
  EXPECT_EQ(golden::parameters_to_host(found), golden::parameters_to_host(weights_));
}

TEST_F(HuggingFace, ASingleFileWithoutAConfigGivesWeightsButNoModel) {
  std::filesystem::create_directory(scratch_ / "elsewhere");
  const Path lonely = scratch_ / "elsewhere" / "model.safetensors";
  std::filesystem::copy_file(folder_ / "model.safetensors", lonely);
  EXPECT_FALSE(import_weights(lonely, imported_).model.has_value());
  expect_same_weights(imported_);
  // With its config in the same directory, the model is known.
  std::filesystem::remove(imported_);
  EXPECT_EQ(import_weights(folder_ / "model.safetensors", imported_).model, kLlama);
}

TEST_F(HuggingFace, SixteenBitTypesBecomeTheSameNumbers) {
  // 1, -2, 65504, 2^-24, -2^-14, 0.333251953125 in both types, as the bits of each.
  const std::vector<float> numbers = {1, -2, 65504, 0x1p-24F, -0x1p-14F, 0.333251953125F, -0.0F, 0};
  const std::vector<uint16_t> f16 = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x8400, 0x3555, 0x8000, 0};
  const std::vector<float> bf16_numbers = {1,         -2,           65280, 0x1p-24F,
                                           -0x1p-14F, 0.333984375F, -0.0F, 0};
  const std::vector<uint16_t> bf16 = {0x3f80, 0xc000, 0x477f, 0x3380, 0xb880, 0x3eab, 0x8000, 0};
  for (const bool half : {true, false}) {
    std::vector<Stored> tensors = stored();
    for (Stored& tensor : tensors) {
      if (tensor.entry.name != "model.norm.weight") continue;
      tensor.entry.dtype = half ? "F16" : "BF16";
      tensor.bytes.assign(reinterpret_cast<const char*>(half ? f16.data() : bf16.data()), 16);
    }
    write(folder_ / "model.safetensors", tensors);
    import_again();
    const SafetensorsReader reader(imported_);
    std::vector<float> found(8);
    reader.read(*reader.find("norm.weight"), 0, 8, found.data());
    EXPECT_EQ(std::memcmp(found.data(), (half ? numbers : bf16_numbers).data(), 32), 0) << half;
  }
}

TEST_F(HuggingFace, AFolderOfSeveralFilesIsReadByItsIndex) {
  const std::vector<Stored> tensors = stored();
  const std::vector<Stored> first(tensors.begin(), tensors.begin() + 7);
  const std::vector<Stored> second(tensors.begin() + 7, tensors.end());
  write(folder_ / "model-1.safetensors", first);
  write(folder_ / "model-2.safetensors", second);
  std::filesystem::remove(folder_ / "model.safetensors");
  Json map = Json::object();
  for (const Stored& tensor : first) map[tensor.entry.name] = "model-1.safetensors";
  for (const Stored& tensor : second) map[tensor.entry.name] = "model-2.safetensors";
  const auto write_index = [&] {
    write_json(folder_ / "model.safetensors.index.json", {{"weight_map", map}});
  };
  write_index();
  import_again();
  expect_same_weights(imported_);

  const std::string moved = second.front().entry.name;
  map[moved] = "model-1.safetensors";
  write_index();
  expect_refused({"index.json", moved, "is not in model-1.safetensors"});
  map[moved] = "../model-2.safetensors";
  write_index();
  expect_refused({moved, "../model-2.safetensors"});
  write(folder_ / "model-2.safetensors", tensors);
  map[moved] = "model-2.safetensors";
  write_index();
  expect_refused({"model-1.safetensors", "model-2.safetensors"});
  std::filesystem::remove(folder_ / "model.safetensors.index.json");
  expect_refused({"neither model.safetensors nor"});
}

TEST_F(HuggingFace, AnOutputMatrixIsAcceptedOnlyIfItIsTheEmbedding) {
  std::vector<Stored> tensors = stored();
  Stored head = tensors.front();
  ASSERT_EQ(head.entry.name, "model.embed_tokens.weight");
  head.entry.name = "lm_head.weight";
  tensors.push_back(head);
  write(folder_ / "model.safetensors", tensors);
  import_again();
  set("tie_word_embeddings", false);
  import_again();
  expect_same_weights(imported_);

  tensors.back().bytes[5] ^= 1;
  write(folder_ / "model.safetensors", tensors);
  expect_refused({"lm_head.weight differs from the embedding"});
  tensors.pop_back();
  write(folder_ / "model.safetensors", tensors);
  expect_refused({"tie_word_embeddings is false", "lm_head.weight"});
}

TEST_F(HuggingFace, ATiedMatrixMayBeStoredOnlyAsTheOutput) {
  std::vector<Stored> tensors = stored();
  ASSERT_EQ(tensors.front().entry.name, "model.embed_tokens.weight");
  tensors.front().entry.name = "lm_head.weight";
  write(folder_ / "model.safetensors", tensors);
  import_again();
  expect_same_weights(imported_);
  std::filesystem::remove(imported_);  // a file of the same kind, without a config.json
  std::filesystem::create_directory(scratch_ / "elsewhere");
  write(scratch_ / "elsewhere" / "model.safetensors", tensors);
  import_weights(scratch_ / "elsewhere" / "model.safetensors", imported_);
  expect_same_weights(imported_);

  for (const Json& untied : {Json(false), Json()}) {
    set("tie_word_embeddings", untied);
    expect_refused(
        {"tie_word_embeddings", "no model.embed_tokens.weight", "lm_head.weight is used for both"});
  }
  tensors.erase(tensors.begin());
  set("tie_word_embeddings", true);
  write(folder_ / "model.safetensors", tensors);
  expect_refused({"model.embed_tokens.weight is missing"});
}

TEST_F(HuggingFace, AFailedImportLeavesNothing) {
  const Path settings = scratch_ / "model.yaml";
  const auto before = names_in(scratch_.path());
  const auto expect_nothing = [&](ErrorKind kind, const std::vector<std::string>& parts,
                                  const Path& output, const Path& yaml) {
    expect_error(kind, parts, [&] { import_weights(folder_, output, yaml); });
    EXPECT_THAT(names_in(scratch_.path()), ::testing::UnorderedElementsAreArray(before));
  };
  expect_nothing(ErrorKind::kIo, {"missing"}, imported_, scratch_ / "missing" / "model.yaml");
  expect_nothing(ErrorKind::kIo, {"missing"}, scratch_ / "missing" / "weights", settings);
  expect_nothing(ErrorKind::kIo, {"folder"}, imported_, folder_);
  std::vector<Stored> tensors = stored();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(tensors.back().bytes.data(), &nan, 4);
  write(folder_ / "model.safetensors", tensors);
  expect_nothing(ErrorKind::kData, {"nan"}, imported_, settings);
  std::filesystem::remove(folder_ / "config.json");
  expect_error(ErrorKind::kData, {"number of attention heads"},
               [&] { import_weights(folder_ / "model.safetensors", imported_, settings); });
  EXPECT_THAT(names_in(scratch_.path()), ::testing::UnorderedElementsAreArray(before));
}

TEST_F(HuggingFace, ImportRefusesModelsThatSaddleCannotRun) {
  const Json good = config();
  struct Refusal {
    std::string key;
    Json value;
    std::vector<std::string> message;
  };
  const std::vector<Refusal> cases = {
      {"num_key_value_heads", 1, {"num_key_value_heads is 1", "num_attention_heads (2)"}},
      {"head_dim", 8, {"head_dim is 8", "(4)"}},
      {"hidden_act", "gelu", {"hidden_act is \"gelu\"", "\"silu\""}},
      {"attention_bias", true, {"attention_bias is true"}},
      {"mlp_bias", true, {"mlp_bias is true"}},
      {"model_type", "mistral", {"model_type is \"mistral\"", "\"llama\""}},
      {"model_type", nullptr, {"model_type is null"}},
      {"architectures", {"LlamaForSequenceClassification"}, {"architectures"}},
      {"quantization_config", {{"bits", 4}}, {"quantization_config"}},
      {"rope_scaling", {{"rope_type", "llama3"}}, {"rope_scaling: rope_type is \"llama3\""}},
      {"rope_scaling", {{"type", "linear"}, {"factor", 2}}, {"rope_scaling: type is \"linear\""}},
      {"rope_parameters", {{"rope_type", "yarn"}}, {"rope_parameters: rope_type is \"yarn\""}},
      {"rope_parameters", {{"rope_theta", 1}}, {"rope_parameters: rope_theta is 1", "50000"}},
      {"hidden_size", 6, {"hidden_size is 6", "multiples of 2 * num_attention_heads"}},
      {"num_hidden_layers", 5000, {"model.layers would be 5000", "from 1 to 1024"}},
      {"num_attention_heads", int64_t{1} << 62, {"num_attention_heads"}},
      {"hidden_size", "8", {"hidden_size is \"8\""}},
      {"hidden_size", nullptr, {"hidden_size is null"}},
      {"vocab_size", 12, {"model.embed_tokens.weight", "[11, 8]", "[12, 8]"}},
      {"num_hidden_layers", 3, {"model.layers.2.input_layernorm.weight is missing"}},
      {"num_hidden_layers", 1, {"model.layers.1", "not one of this model"}},
      {"intermediate_size", 7, {"mlp.gate_proj.weight", "[6, 8]", "[7, 8]"}},
  };
  for (const Refusal& row : cases) {
    write_json(folder_ / "config.json", good);
    set(row.key, row.value);
    SCOPED_TRACE(row.key + " " + row.value.dump());
    expect_refused(row.message);
  }
  write_json(folder_ / "config.json", good);
  import_again();
}

TEST_F(HuggingFace, OldAndNewFormsOfConfigAreRead) {
  Json old = config();
  for (const char* key : {"rope_parameters", "head_dim", "num_key_value_heads", "attention_bias",
                          "mlp_bias", "architectures"}) {
    old.erase(key);
  }
  EXPECT_EQ(settings_from_hugging_face(old, "old"), kLlama);
  Json fresh = config();
  fresh.erase("rope_theta");
  EXPECT_EQ(settings_from_hugging_face(fresh, "new"), kLlama);
  old.erase("rope_theta");
  old.erase("rms_norm_eps");
  old.erase("max_position_embeddings");
  const config::ModelSettings defaults = settings_from_hugging_face(old, "defaults");
  EXPECT_EQ(defaults.rope_theta, 10000);
  EXPECT_EQ(defaults.norm_eps, 1e-6);
  EXPECT_EQ(defaults.context_length, 2048);
}

TEST_F(HuggingFace, ImportRefusesTensorsThatDoNotFit) {
  const std::vector<Stored> good = stored();
  std::vector<Stored> tensors = good;
  tensors[3].entry.name = "model.layers.0.self_attn.q_proj.bias";
  write(folder_ / "model.safetensors", tensors);
  expect_refused({"q_proj.bias", "not one of this model"});

  tensors = good;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(tensors.back().bytes.data() + 4, &nan, 4);
  write(folder_ / "model.safetensors", tensors);
  expect_refused({tensors.back().entry.name, "nan", "element 1"});

  tensors = good;
  for (Stored& tensor : tensors) {
    if (tensor.entry.name != "model.norm.weight") continue;
    tensor.entry.dtype = "F64";
    tensor.bytes.resize(64);
  }
  write(folder_ / "model.safetensors", tensors);
  expect_refused({"model.norm.weight", "F64", "F32, F16 or BF16"});

  tensors = good;  // edits the bytes of the file, since no writer writes an unknown type
  write(folder_ / "model.safetensors", tensors);
  std::string bytes = read_file(folder_ / "model.safetensors");
  bytes.replace(bytes.find("F32"), 3, "F99");
  write_file_atomically(folder_ / "model.safetensors", bytes);
  expect_refused({"model.safetensors: tensor ", "unknown type F99"});

  tensors = good;  // a table that old versions stored with the weights is ignored
  tensors.push_back(
      {{.name = "model.layers.0.self_attn.rotary_emb.inv_freq", .dtype = "F32", .shape = {1}},
       std::string(4, '\0')});
  write(folder_ / "model.safetensors", tensors);
  import_again();

  std::filesystem::resize_file(folder_ / "model.safetensors", 700);
  expect_refused({"model.safetensors"});
  std::filesystem::remove(folder_ / "config.json");
  expect_refused({"contains no config.json"});
}

TEST_F(HuggingFace, ExistingFilesAreNeitherOverwrittenNorDamaged) {
  const std::string before = read_file(folder_ / "config.json");
  expect_error(ErrorKind::kConfig, {"folder", "already exists"},
               [&] { export_hugging_face(folder_, kLlama, weights_, nullptr); });
  EXPECT_EQ(read_file(folder_ / "config.json"), before);
  import_again();
  expect_error(ErrorKind::kConfig, {"imported.safetensors", "already exists"},
               [&] { import_weights(folder_, imported_); });
}

TEST_F(HuggingFace, AnExportThatCannotBeWrittenLeavesNothing) {
  const auto before = names_in(scratch_.path());
  ChildProcess child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2000, 2000};  // config.json fits, the weights do not
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      export_hugging_face(scratch_ / "cut", kLlama, weights_, &tokenizer());
    } catch (const Error& error) {
      return error.kind() == ErrorKind::kIo ? 7 : 8;
    }
    return 9;
  });
  EXPECT_EQ(child.exit_status(), 7);
  EXPECT_THAT(names_in(scratch_.path()), ::testing::UnorderedElementsAreArray(before));
}

TEST_F(HuggingFace, AKilledExportLeavesNothingUnderItsNameAndTheNextOneCleansUp) {
  ChildProcess child([&] {
    const rlimit limit{2000, 2000};  // without a handler the signal kills in the middle
    ::setrlimit(RLIMIT_FSIZE, &limit);
    export_hugging_face(scratch_ / "cut", kLlama, weights_, nullptr);
    return 0;
  });
  EXPECT_EQ(child.exit_status(), -1);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "cut"));
  export_hugging_face(scratch_ / "cut", kLlama, weights_, nullptr);
  for (const std::string& name : names_in(scratch_.path())) EXPECT_NE(name.front(), '.') << name;
  import_weights(scratch_ / "cut", imported_);
  expect_same_weights(imported_);
}

}  // namespace
}  // namespace saddle::model
