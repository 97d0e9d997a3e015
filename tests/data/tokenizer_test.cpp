#include "data/tokenizer.h"

#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "base/sha256.h"
#include "data/cache.h"
#include "data/character_map.h"
#include "data/fixtures.h"
#include "data/sentencepiece_model.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle::data {
namespace {

class TokenizerTest : public ::testing::Test {
 protected:
  TokenizerTrainingOptions options(const std::string& model, int64_t vocab_size = kTinyVocabulary) {
    write_bytes(directory_ / "text.txt", some_text(1, 4000));
    TokenizerTrainingOptions options;
    options.inputs = {directory_ / "text.txt"};
    options.model_file = directory_ / model;
    options.vocab_size = vocab_size;
    return options;
  }
  TemporaryDirectory directory_;
  Log log_ = Log::silent();
};

TEST_F(TokenizerTest, TrainsTheSameModelTwice) {
  const TokenizerTrainingSummary first = train_tokenizer(options("a.model"), &log_);
  const TokenizerTrainingSummary second = train_tokenizer(options("b.model"), &log_);
  EXPECT_EQ(read_bytes(directory_ / "a.model"), read_bytes(directory_ / "b.model"));
  EXPECT_EQ(first.sha256, sha256_file(directory_ / "a.model"));
  EXPECT_EQ(first.sha256, second.sha256);
  EXPECT_EQ(first.sentences, (4000 + 12) / 13);
}

TEST_F(TokenizerTest, EncodesEveryTextAndDecodesItBack) {
  train_tokenizer(options("a.model"), &log_);
  const Tokenizer tokenizer(directory_ / "a.model");
  EXPECT_EQ(tokenizer.vocab_size(), kTinyVocabulary);
  EXPECT_EQ(tokenizer.eos_id(), 2);
  EXPECT_EQ(tokenizer.sha256(), sha256_file(directory_ / "a.model"));
  EXPECT_EQ(tokenizer.encode(""), std::vector<uint16_t>{});
  for (const std::string& text :
       {some_text(9, 50), std::string("two  spaces, \n\n lines\tand tabs "),
        std::string("\xF0\x9F\x98\x80 \xE6\x97\xA5\xC2\x92"), std::string("</s><s>"),
        std::string("nul\0inside", 10)}) {
    const std::vector<uint16_t> ids = tokenizer.encode(text);
    EXPECT_EQ(tokenizer.decode(ids), text);
    for (const uint16_t id : ids) EXPECT_GE(id, 3) << "a special id for " << text;
  }
  // A frequent word is one piece, and the digits of a number are one each.
  EXPECT_EQ(tokenizer.encode("river").size(), 1U);
  EXPECT_EQ(tokenizer.encode("1987").size(), tokenizer.encode("1 9 8 7").size() - 3);
}

TEST_F(TokenizerTest, AppendsToExistingIds) {
  train_tokenizer(options("a.model"), &log_);
  const Tokenizer tokenizer(directory_ / "a.model");
  std::vector<uint16_t> ids = {7};
  tokenizer.encode("river stone", &ids);
  std::vector<uint16_t> expected = tokenizer.encode("river stone");
  expected.insert(expected.begin(), 7);
  EXPECT_EQ(ids, expected);
}

TEST_F(TokenizerTest, TrainsOnDocumentsAsOnTheirLines) {
  const std::vector<std::string> texts = some_documents(3, 200);
  std::string lines;
  for (const std::string& text : texts) lines += text + "\n";
  TokenizerTrainingOptions plain = options("plain.model", 300);
  write_bytes(directory_ / "lines.txt", lines);
  plain.inputs = {directory_ / "lines.txt"};
  TokenizerTrainingOptions packed = options("packed.model", 300);
  write_bytes(directory_ / "train.json.gz", gzip(json_lines(texts)));
  packed.inputs = {directory_ / "train.json.gz"};
  EXPECT_EQ(train_tokenizer(plain, &log_).sha256, train_tokenizer(packed, &log_).sha256);
}

TEST_F(TokenizerTest, CountsTheLinesThatItLeavesOut) {
  TokenizerTrainingOptions asked = options("a.model", 300);
  const std::string text = some_text(1, 2000) + "\n";
  write_bytes(directory_ / "text.txt", text + "\n\nthe \u2585 block\n" + std::string("n\0l\n", 4));
  const TokenizerTrainingSummary summary = train_tokenizer(asked, &log_);
  EXPECT_EQ(summary.skipped, 2);
  EXPECT_EQ(summary.sentences, (2000 + 12) / 13);
}

// SentencePiece 0.1.97 reads out of bounds at 40,000 characters and exits at 70,000.
TEST_F(TokenizerTest, LeavesOutWordsThatSentencePieceCannotHandle) {
  const std::string text = some_text(1, 2000) + "\nthe end";
  std::string plain_text = text;
  std::string long_text = "long lines\n" + text;
  plain_text.insert(0, "long lines\n");
  std::string word;
  for (int i = 0; i < 70'000; ++i) word += static_cast<char>('a' + i % 7 * (i % 11) % 7);
  long_text += " " + word + "\n" + word.substr(0, 40'000) + "\n";
  for (int i = 0; i < 33'000; ++i) long_text += "\u65E5";
  for (const char* type : {"bpe", "unigram"}) {
    SCOPED_TRACE(type);
    TokenizerTrainingOptions asked = options("plain.model", 300);
    asked.model_type = type;
    write_bytes(directory_ / "text.txt", plain_text);
    const std::string expected = train_tokenizer(asked, &log_).sha256;
    asked.model_file = directory_ / "long.model";
    write_bytes(directory_ / "text.txt", long_text);
    const TokenizerTrainingSummary summary = train_tokenizer(asked, &log_);
    EXPECT_EQ(summary.long_words, 3);
    EXPECT_EQ(summary.sha256, expected) << "trained as if they had not been there";
  }
}

TEST_F(TokenizerTest, TrainsOnTheLongestWordsThatItKeeps) {
  TokenizerTrainingOptions asked = options("a.model", 320);
  std::string word;
  for (int i = 0; i < 32'767; ++i) word += static_cast<char>('a' + i % 7 * (i % 11) % 7);
  write_bytes(directory_ / "text.txt", some_text(1, 2000) + "\n" + word + "\n" + word + "a");
  EXPECT_EQ(train_tokenizer(asked, &log_).long_words, 1);
}

TEST_F(TokenizerTest, CountsBlankLinesAndZeroBytes) {
  TokenizerTrainingOptions asked = options("a.model", 300);
  write_bytes(directory_ / "a.json.gz",
              gzip("\n" + json_lines(some_documents(1, 100)) + " \n") + std::string(10, '\0'));
  write_bytes(directory_ / "b.txt.gz", gzip(some_text(1, 100)) + std::string(5, '\0'));
  asked.inputs = {directory_ / "a.json.gz", directory_ / "b.txt.gz"};
  const TokenizerTrainingSummary summary = train_tokenizer(asked, &log_);
  EXPECT_EQ(summary.blank_lines, 2);
  EXPECT_EQ(summary.zero_bytes, 15);
}

TEST_F(TokenizerTest, AnOutputThatCannotBeWrittenIsRefusedBeforeTheText) {
  TokenizerTrainingOptions asked = options("none/a.model");
  asked.inputs = {directory_ / "missing.txt"};
  expect_error(ErrorKind::kIo, {"none/a.model"}, [&] { train_tokenizer(asked, &log_); });
}

TEST_F(TokenizerTest, RefusesInvalidTrainingRequests) {
  expect_error(ErrorKind::kConfig, {"20000"},
               [&] { train_tokenizer(options("a.model", 20'000), &log_); });
  expect_error(ErrorKind::kConfig, {"65536", "70000"},
               [&] { train_tokenizer(options("a.model", 70'000), &log_); });
  TokenizerTrainingOptions word = options("a.model");
  word.model_type = "word";
  expect_error(ErrorKind::kConfig, {"bpe or unigram", "word"},
               [&] { train_tokenizer(word, &log_); });
  TokenizerTrainingOptions empty = options("a.model");
  write_bytes(directory_ / "text.txt", "\n\n");
  expect_error(ErrorKind::kData, {"no text"}, [&] { train_tokenizer(empty, &log_); });
  TokenizerTrainingOptions missing = options("a.model");
  missing.inputs = {directory_ / "none.txt"};
  expect_error(ErrorKind::kIo, {"none.txt"}, [&] { train_tokenizer(missing, &log_); });
  TokenizerTrainingOptions broken = options("a.model");
  broken.inputs = {directory_ / "broken.json"};
  write_bytes(directory_ / "broken.json", json_lines(some_documents(1, 9)) + "oops\n");
  expect_error(ErrorKind::kData, {"broken.json line 10"}, [&] { train_tokenizer(broken, &log_); });
  EXPECT_FALSE(std::filesystem::exists(directory_ / "a.model"));
  TokenizerTrainingOptions nowhere = options("text.txt/a.model");
  expect_error(ErrorKind::kIo, {"text.txt/a.model"}, [&] { train_tokenizer(nowhere, &log_); });
}

TEST_F(TokenizerTest, RefusesFilesThatAreNotModels) {
  expect_error(ErrorKind::kIo, {"none.model"}, [&] { Tokenizer(directory_ / "none.model"); });
  for (const std::string& bytes : {std::string(), std::string("not a model"),
                                   std::string(1000, '\xFF'), std::string(1000, '\0')}) {
    write_bytes(directory_ / "bad.model", bytes);
    expect_error(ErrorKind::kData, {"bad.model", "a SentencePiece model"},
                 [&] { Tokenizer(directory_ / "bad.model"); });
  }
}

TEST_F(TokenizerTest, RefusesAModelThatMakesSentencePieceThrow) {
  // Three special pieces, and one that begins with a NUL, which ends the keys of its trie.
  using namespace std::string_literals;
  const std::string special =
      "\x0a\x09\x0a\x05<unk>\x18\x02\x0a\x07\x0a\x03<s>\x18\x03\x0a\x08\x0a\x04</s>\x18\x03";
  write_bytes(directory_ / "empty.model", special + "\x0a\x04\x0a\x02\x00\x61"s);
  expect_error(ErrorKind::kData, {"empty.model", "not a SentencePiece model"},
               [&] { Tokenizer(directory_ / "empty.model"); });
}

TEST_F(TokenizerTest, RefusesADamagedTableOfReplacedCharacters) {
  write_bytes(directory_ / "text.txt", some_text(1, 2000));
  const Path file = directory_ / "table.model";
  const auto status = sentencepiece::SentencePieceTrainer::Train(
      "--minloglevel=2 --model_type=bpe --vocab_size=60 --normalization_rule_name=nmt_nfkc "
      "--input=" +
      (directory_ / "text.txt").string() + " --model_prefix=" + (directory_ / "table").string());
  ASSERT_TRUE(status.ok()) << status.ToString();
  const std::string bytes = read_bytes(file);
  const std::string map = read_sentencepiece_model(bytes, "it").precompiled_charsmap;
  EXPECT_EQ(character_map_fault(map), "");
  EXPECT_GT(Tokenizer(file).vocab_size(), 0);

  const size_t at = bytes.find(map);
  const auto refused = [&](size_t offset, const std::string& value, const char* fault) {
    std::string damaged = bytes;
    damaged.replace(at + offset, value.size(), value);
    write_bytes(file, damaged);
    expect_error(ErrorKind::kData, {"table.model", "replaced characters", fault},
                 [&] { Tokenizer{file}; });
  };
  refused(0, "\xff\xff\xff\x7f", "trie");    // longer than the table
  refused(4, "\xff\xff\xff\x7f", "node 0");  // the root leads far outside
  refused(map.size() - 1, "x", "no end");
}

TEST_F(TokenizerTest, RefusesAModelWithoutAnEndPiece) {
  write_bytes(directory_ / "text.txt", some_text(1, 2000));
  const auto status = sentencepiece::SentencePieceTrainer::Train(
      "--minloglevel=2 --model_type=bpe --vocab_size=60 --eos_id=-1 --input=" +
      (directory_ / "text.txt").string() + " --model_prefix=" + (directory_ / "endless").string());
  ASSERT_TRUE(status.ok()) << status.ToString();
  expect_error(ErrorKind::kData, {"endless.model", "end-of-sequence"},
               [&] { Tokenizer(directory_ / "endless.model"); });
}

TEST_F(TokenizerTest, RefusesAVocabularyOfTheWrongSize) {
  train_tokenizer(options("a.model"), &log_);
  const Tokenizer tokenizer(directory_ / "a.model");
  check_vocabulary(tokenizer, kTinyVocabulary);
  expect_error(ErrorKind::kConfig, {"a.model", "330", "32000", "model.vocab_size"},
               [&] { check_vocabulary(tokenizer, 32'000); });
}

TEST_F(TokenizerTest, RefusesIdsThatDoNotFit16Bits) {
  train_tokenizer(options("a.model"), &log_);
  // A model is a protocol buffer, whose repeated fields continue when more bytes are appended:
  // field 1 of the model is a piece, field 1 of a piece its text and field 2 its score.
  std::string model = read_bytes(directory_ / "a.model");
  for (int i = 0; i < static_cast<int>(kMaxVocabulary) - kTinyVocabulary + 1; ++i) {
    const std::string text = fmt::format("piece{:06}", i);
    model += std::string("\x0A\x12\x0A\x0B", 4) + text + std::string("\x15\0\0\0\xC3", 5);
  }
  write_bytes(directory_ / "large.model", model);
  expect_error(ErrorKind::kData, {"large.model", "65536", "65537"},
               [&] { Tokenizer(directory_ / "large.model"); });
}

TEST_F(TokenizerTest, RefusesToDecodeIdsOverTheVocabulary) {
  train_tokenizer(options("a.model"), &log_);
  const Tokenizer tokenizer(directory_ / "a.model");
  expect_error(ErrorKind::kData, {"id 330", "vocabulary of 330"}, [&] {
    tokenizer.decode(std::vector<uint16_t>{5, 330});
  });
}

TEST_F(TokenizerTest, GivesTheReferenceIds) {
  const Path reference(SADDLE_REFERENCE_DIR);
  const Path folder = reference / "data" / "tokenizer";
  if (reference.empty() || !std::filesystem::exists(folder / "tokenizer.model")) {
    GTEST_SKIP() << "the reference tokenizer is not here: set SADDLE_REFERENCE_DIR";
  }
  const Tokenizer tokenizer(folder / "tokenizer.model");
  EXPECT_EQ(tokenizer.vocab_size(), 32'000);
  EXPECT_EQ(tokenizer.eos_id(), 2);
  const Json expected = read_json(folder / "expected_ids.json");
  EXPECT_GT(expected["cases"].size(), 10U);
  for (const Json& item : expected["cases"]) {
    const auto text = item["text"].get<std::string>();
    EXPECT_EQ(tokenizer.encode(text), item["ids"].get<std::vector<uint16_t>>()) << text;
  }
}

}  // namespace
}  // namespace saddle::data
