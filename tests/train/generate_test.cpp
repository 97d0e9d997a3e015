// Text from a checkpoint, with a tokenizer made by the test.
#include "train/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "config/load.h"
#include "data/fixtures.h"
#include "data/tokenizer.h"
#include "model/reference.h"
#include "model/weights_file.h"
#include "support/expect_error.h"
#include "support/golden.h"
#include "support/run_program.h"
#include "support/test_context.h"

namespace saddle::train {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Whether the bytes are UTF-8 as far as lead and continuation bytes go.
bool whole_characters(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80    ? 1
                          : lead >= 0xF0 ? 4
                          : lead >= 0xE0 ? 3
                          : lead >= 0xC0 ? 2
                                         : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (size_t j = 1; j < length; ++j) {
      if ((text[i + j] & 0xC0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

class GenerateText : public ::testing::Test {
 protected:
  GenerateText() {
    settings_.model = {.vocab_size = data::kTinyVocabulary,
                       .context_length = 32,
                       .layers = 2,
                       .width = 16,
                       .heads = 2,
                       .ffn_width = 24};
    settings_.training.batch_tokens = 32 * 32;
    settings_.runtime.threads = 1;
    settings_.runtime.dtype = config::Precision::kFloat64;
    options_.tokenizer = data::make_tokenizer(directory_.path());
    options_.prompt = "the river walked";
    options_.max_new_tokens = 10;
    save(0.5);
  }

  // Random weights; a spread of 0 makes every token equally probable.
  void save(double spread) {
    weights_ = backend::Arena<double>(context_, model::Parameters(settings_.model).layout, 1);
    const RandomStream random(11, RandomPurpose::kTest);
    std::vector<double> values(weights_.layout().size());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(spread * random.normal(i));  // weight files are float32
    }
    golden::parameters_from_host(values, weights_);
    model::save_weights<double>(checkpoint_, weights_, 0, {});
  }

  Generation run() const { return generate(settings_, checkpoint_, options_); }

  std::vector<int32_t> prompt_tokens() const {
    const data::Tokenizer tokenizer(options_.tokenizer);
    std::vector<int32_t> tokens = {tokenizer.eos_id()};
    for (const uint16_t id : tokenizer.encode(options_.prompt)) tokens.push_back(id);
    return tokens;
  }

  // Logits [T, V] of a sequence, padded after its end, by the operation-by-operation execution.
  std::vector<double> reference_logits(std::vector<int32_t> tokens) {
    tokens.resize(settings_.model.context_length, 0);
    model::Reference<double> reference(context_, settings_.model, {}, 1, weights_, nullptr);
    reference.set_batch(1, tokens.data(), tokens.data());
    reference.run_losses();
    return backend::to_host<double>(context_, reference.logits());
  }

  TemporaryDirectory directory_;
  Path checkpoint_ = directory_ / "weights.safetensors";
  config::Settings settings_;
  GenerateOptions options_;
  backend::Context context_ = test_context(1);
  backend::Arena<double> weights_;
};

TEST_F(GenerateText, TemperatureZeroTakesTheLargestLogitOfTheReferenceEachTime) {
  options_.sampling.temperature = 0;
  const Generation found = run();
  std::vector<int32_t> tokens = prompt_tokens();
  const size_t prompt = tokens.size();
  EXPECT_EQ(found.prompt_tokens, static_cast<int64_t>(prompt));
  const data::Tokenizer tokenizer(options_.tokenizer);
  for (int64_t i = 0; i < found.tokens; ++i) {
    const std::vector<double> logits = reference_logits(tokens);
    const auto row = logits.begin() + static_cast<int64_t>(tokens.size() - 1) * 330;
    tokens.push_back(static_cast<int32_t>(std::max_element(row, row + 330) - row));
    if (tokens.back() == tokenizer.eos_id()) break;
  }
  std::vector<uint16_t> ids(tokens.begin() + 1, tokens.end());
  EXPECT_EQ(options_.prompt + found.text, tokenizer.decode(ids));
  options_.seed = 5;
  EXPECT_EQ(run().text, found.text);
}

TEST_F(GenerateText, TheSeedDecidesTheText) {
  const std::string text = run().text;
  EXPECT_EQ(run().text, text);
  settings_.runtime.threads = 2;
  EXPECT_EQ(run().text, text);
  options_.seed = 1;
  EXPECT_NE(run().text, text);
}

// 60 tokens in a context of 32: the window moves at least twice.
TEST_F(GenerateText, ContinuesBeyondTheContext) {
  options_.max_new_tokens = 70;
  while (run().end == Generation::End::kDocument) ++options_.seed;
  options_.max_new_tokens = 60;
  const Generation found = run();
  EXPECT_EQ(found.tokens, 60);
  EXPECT_EQ(found.end, Generation::End::kLength);
  options_.max_new_tokens = 70;
  EXPECT_THAT(run().text, StartsWith(found.text));
  for (int i = 0; i < 5; ++i) options_.prompt += options_.prompt;  // far longer than the context
  const Generation longer = run();
  EXPECT_GT(longer.prompt_tokens, 32);
  EXPECT_GT(longer.tokens, 0);
}

// Equally probable tokens give the bytes of characters in any order, and finally the end.
TEST_F(GenerateText, PassesOnWholeCharactersAndEndsWithTheDocument) {
  save(0);
  options_.max_new_tokens = 5000;
  std::string pieces;
  options_.on_text = [&](std::string_view text) {
    EXPECT_TRUE(whole_characters(text)) << text;
    pieces += text;
  };
  const Generation found = run();
  EXPECT_EQ(found.end, Generation::End::kDocument);
  EXPECT_GT(found.tokens, 10);
  EXPECT_LT(found.tokens, 5000);
  EXPECT_EQ(pieces, found.text);
}

TEST_F(GenerateText, AnEmptyPromptBeginsADocument) {
  options_.prompt = "";
  const Generation found = run();
  EXPECT_EQ(found.prompt_tokens, 1);
  EXPECT_EQ(found.tokens, 10);
}

TEST_F(GenerateText, StopsOnRequest) {
  int asked = 0;
  options_.stop = [&] { return ++asked > 3 ? SIGTERM : 0; };
  const Generation found = run();
  EXPECT_EQ(found.end, Generation::End::kStopped);
  EXPECT_EQ(found.tokens, 3);
}

TEST_F(GenerateText, WritesTheLogitsOfThePrompt) {
  options_.logits_file = directory_ / "logits.safetensors";
  options_.max_new_tokens = 0;
  run();
  const model::SafetensorsReader file(options_.logits_file);
  const std::vector<int32_t> tokens = prompt_tokens();
  const auto count = static_cast<int64_t>(tokens.size());
  std::vector<int64_t> ids(count);
  file.read(*file.find("tokens"), 0, count, ids.data());
  EXPECT_TRUE(std::equal(ids.begin(), ids.end(), tokens.begin(), tokens.end()));
  const model::TensorEntry* entry = file.find("logits");
  EXPECT_EQ(entry->dtype, "F64");
  EXPECT_EQ(entry->shape, (std::vector<int64_t>{count, 330}));
  std::vector<double> logits(count * 330);
  file.read(*entry, 0, count * 330, logits.data());
  const std::vector<double> expected = reference_logits(tokens);
  // Values of the order of 10; the sums have another order.
  for (size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], expected[i], 1e-12) << i;
}

TEST_F(GenerateText, RefusesWhatDoesNotFit) {
  options_.sampling.top_p = 2;
  expect_error(ErrorKind::kUsage, {"top-p"}, [&] { run(); });
  options_.sampling.top_p = 1;
  options_.logits_file = directory_ / "logits.safetensors";
  for (int i = 0; i < 5; ++i) options_.prompt += options_.prompt;
  expect_error(ErrorKind::kUsage, {"context_length (32)"}, [&] { run(); });
  settings_.model.vocab_size = 331;
  expect_error(ErrorKind::kConfig, {"330 pieces", "model.vocab_size is 331"}, [&] { run(); });
}

TEST_F(GenerateText, TheCommandReadsTheSettingsNextToTheCheckpoint) {
  settings_.runtime.dtype = config::Precision::kFloat32;
  settings_.data.tokenizer = options_.tokenizer.string();
  write_file_atomically(directory_ / "resolved.yaml", config::to_yaml(settings_));
  options_.seed = 3;
  options_.sampling = {.temperature = 0.8, .top_k = 20, .top_p = 0.9};
  const std::string arguments = "generate --checkpoint " + checkpoint_.string() +
                                " --prompt 'the river walked' --max-new-tokens 10 --seed 3 "
                                "--temperature 0.8 --top-k 20 --top-p 0.9";
  const ProgramResult result = run_saddle(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, options_.prompt + run().text + "\n");
  EXPECT_THAT(result.errors, HasSubstr("tokens/s"));
  const ProgramResult other = run_saddle(arguments + " --set model.layers=1");
  EXPECT_NE(other.exit_code, 0);
  EXPECT_THAT(other.errors, HasSubstr("blocks.1."));
}

}  // namespace
}  // namespace saddle::train
