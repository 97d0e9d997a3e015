// Reading a SentencePiece model, and writing it as tokenizer.json.
#include "data/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "data/fixtures.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle::data {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;
using Type = SentencePieceModel::PieceType;

SentencePieceModel small_bpe() {
  SentencePieceModel model;
  model.kind = SentencePieceModel::Kind::kBpe;
  model.byte_fallback = true;
  model.remove_extra_whitespaces = false;
  model.pieces = {{"<unk>", 0, Type::kUnknown},
                  {"<s>", 0, Type::kControl},
                  {"</s>", 0, Type::kControl},
                  {"<0x0A>", 0, Type::kByte},
                  {"ab", 0},
                  {"▁ab", -1},
                  {"▁a", -3},
                  {"aba", -2},
                  {"▁", -4},
                  {"a", -5},
                  {"b", -6}};
  return model;
}

// By hand: "▁ab" is ▁|ab or ▁a|b, "aba" is ab|a alone since "ba" is no piece.
TEST(TokenizerJson, ConvertsABpeModel) {
  const Json expected = Json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [
      {"id": 0, "content": "<unk>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true},
      {"id": 1, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true},
      {"id": 2, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true}],
    "normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Prepend", "prepend": "▁"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
    "pre_tokenizer": null, "post_processor": null,
    "decoder": {"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
      {"type": "ByteFallback"}, {"type": "Fuse"},
      {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    "model": {
      "type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
      "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true, "ignore_merges": false,
      "vocab": {"<unk>": 0, "<s>": 1, "</s>": 2, "<0x0A>": 3, "ab": 4, "▁ab": 5, "▁a": 6, "aba": 7,
                "▁": 8, "a": 9, "b": 10},
      "merges": ["a b", "▁ ab", "▁a b", "ab a", "▁ a"]}})");
  EXPECT_EQ(tokenizer_json(small_bpe()), expected);
}

TEST(TokenizerJson, KeepsTheNormalizationOfTheModel) {
  SentencePieceModel model = small_bpe();
  model.add_dummy_prefix = false;
  model.remove_extra_whitespaces = true;
  model.precompiled_charsmap = std::string("\0\xff?>", 4);
  const Json json = tokenizer_json(model);
  EXPECT_EQ(json.at("normalizer").at("normalizers"), Json::parse(R"([
      {"type": "Precompiled", "precompiled_charsmap": "AP8/Pg=="},
      {"type": "Replace", "pattern": {"Regex": "\\A +"}, "content": ""},
      {"type": "Replace", "pattern": {"Regex": "[ ▁]+\\z"}, "content": ""},
      {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
      {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}])"));
  model.remove_extra_whitespaces = false;  // then no space is removed either
  EXPECT_EQ(tokenizer_json(model).at("decoder").at("decoders").size(), 3);
}

// Names in a text must not be read as the pieces. A low score, (lowest - 1) * (longest + 1),
// prevents it, and where no piece contains their "<", a cut after it.
TEST(TokenizerJson, ConvertsAUnigramModel) {
  SentencePieceModel model = small_bpe();
  model.kind = SentencePieceModel::Kind::kUnigram;
  model.pieces = {{"<unk>", 0, Type::kUnknown},
                  {"<s>", 0, Type::kControl},
                  {"a.", -1.5},
                  {"<0x0A>", 0, Type::kByte},
                  {"s", -2},
                  {">", -1}};
  const Json json = tokenizer_json(model);
  EXPECT_EQ(json.at("model"), Json::parse(R"({
      "type": "Unigram", "unk_id": 0,
      "vocab": [["<unk>", -21.0], ["<s>", -21.0], ["a.", -1.5], ["<0x0A>", -21.0], ["s", -2.0],
                [">", -1.0]],
      "byte_fallback": true})"));
  EXPECT_EQ(json.at("pre_tokenizer"), Json::parse(R"json({
      "type": "Split", "pattern": {"Regex": "<(?=unk>)|<(?=s>)|<(?=0x0A>)"},
      "behavior": "MergedWithPrevious", "invert": false})json"));
  model.pieces = {{"<unk>", 0, Type::kUnknown}, {"<[", 0, Type::kControl}};
  for (const char* text : {"<", "u", "n", "k", ">"}) model.pieces.push_back({text, -1});
  EXPECT_EQ(tokenizer_json(model).at("pre_tokenizer").at("pattern").at("Regex"), "<(?=\\[)");
  model.pieces.push_back({"[", -1});
  EXPECT_TRUE(tokenizer_json(model).at("pre_tokenizer").is_null());
}

TEST(TokenizerJson, UnsupportedModelsAreReported) {
  EXPECT_EQ(without_tokenizer_json(small_bpe()), std::nullopt);
  const auto reason = [](auto change) {
    SentencePieceModel model = small_bpe();
    change(model);
    return without_tokenizer_json(model).value_or("");
  };
  using Model = SentencePieceModel;
  EXPECT_EQ(reason([](Model& m) { m.kind = Model::Kind::kWord; }),
            "it is neither a bpe nor a unigram model");
  EXPECT_EQ(reason([](Model& m) { m.treat_whitespace_as_suffix = true; }),
            "it puts spaces at the end of its pieces");
  EXPECT_EQ(reason([](Model& m) { m.escape_whitespaces = false; }),
            "it does not write a space as U+2581");
  EXPECT_EQ(reason([](Model& m) { m.pieces[0].type = Type::kNormal; }),
            "it has no piece for unknown characters");
  EXPECT_EQ(reason([](Model& m) { m.pieces[4].type = Type::kUserDefined; }),
            "the piece ab is user-defined");
  EXPECT_EQ(reason([](Model& m) { m.pieces[4].type = Type::kUnused; }), "the piece ab is unused");
  EXPECT_EQ(reason([](Model& m) { m.pieces[4].text = "a b"; }), "a piece contains a space");
  EXPECT_EQ(reason([](Model& m) { m.pieces[4].text = "\xff"; }), "a piece is not UTF-8");
  EXPECT_EQ(reason([](Model& m) { m.pieces.pop_back(); }),
            "the character b is in a piece but is not a piece");
}

// The ids by the rules of tokenizer.json: of all pairs, the one that comes first in "merges" is
// joined, and among equal ones the leftmost.
std::vector<uint16_t> ids_by(const Json& json, const std::string& text) {
  const Json& vocabulary = json.at("model").at("vocab");
  std::map<std::string, size_t> ranks;
  for (const Json& merge : json.at("model").at("merges")) ranks.emplace(merge, ranks.size());
  std::string normalized = text.empty() ? "" : "▁";
  for (const char c : text) normalized += c == ' ' ? "▁" : std::string(1, c);
  std::vector<std::string> symbols;
  for (size_t i = 0; i < normalized.size();) {
    size_t end = i + 1;
    while (end < normalized.size() && (normalized[end] & 0xc0) == 0x80) ++end;
    const std::string character = normalized.substr(i, end - i);
    if (vocabulary.contains(character)) {
      symbols.push_back(character);
    } else {
      for (const char byte : character) {
        symbols.push_back(fmt::format("<0x{:02X}>", static_cast<uint8_t>(byte)));
      }
    }
    i = end;
  }
  while (true) {
    size_t best = 0, best_rank = ranks.size();
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto rank = ranks.find(symbols[i] + " " + symbols[i + 1]);
      if (rank != ranks.end() && rank->second < best_rank) best = i, best_rank = rank->second;
    }
    if (best_rank == ranks.size()) break;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  std::vector<uint16_t> ids;
  for (const std::string& symbol : symbols) ids.push_back(vocabulary.at(symbol).get<uint16_t>());
  return ids;
}

TEST(TokenizerJson, ItsMergesGiveTheIdsOfSentencePiece) {
  const TemporaryDirectory scratch;
  const Path file = make_tokenizer(scratch.path());
  const Tokenizer tokenizer(file);
  const SentencePieceModel model = read_sentencepiece_model(read_file(file), "it");
  ASSERT_EQ(model.pieces.size(), kTinyVocabulary);
  for (uint16_t id = 0; id < kTinyVocabulary; ++id) {
    EXPECT_EQ(model.pieces[id].text, tokenizer.piece(id));
  }
  EXPECT_TRUE(model.byte_fallback);
  EXPECT_FALSE(model.remove_extra_whitespaces);
  ASSERT_EQ(without_tokenizer_json(model), std::nullopt);
  const Json json = tokenizer_json(model);
  for (const std::string& text :
       {std::string(), std::string(" "), std::string("  two  spaces  "),
        std::string("a\n\n\tb\r\n"), std::string("café — naïve e\u0301"),
        std::string("日本 \U0001F600\U0001F468\u200D"), std::string("a\0b\x01\x7f", 5),
        std::string("<s> </s> <0x0A> ▁▁a"), std::string(50, 'a'), std::string(40, ' '),
        some_text(9, 60), some_text(10, 60)}) {
    EXPECT_EQ(ids_by(json, text), tokenizer.encode(text)) << text;
  }
}

TEST(SentencePieceModel, IsReadFieldByField) {
  using namespace std::string_literals;
  // A piece "ab" of score 1 that is unused, an unknown field, the trainer (bpe, byte fallback), and
  // the normalizer (charsmap "x", no dummy prefix).
  const std::string bytes = "\x0a\x0b\x0a\x02"s + "ab\x15\x00\x00\x80\x3f\x18\x05"s +
                            "\xf8\x3f\x96\x01"s + "\x12\x05\x18\x02\x98\x02\x01"s +
                            "\x1a\x05\x12\x01x\x18\x00"s;
  const SentencePieceModel model = read_sentencepiece_model(bytes, "it");
  ASSERT_EQ(model.pieces.size(), 1);
  EXPECT_EQ(model.pieces[0].text, "ab");
  EXPECT_EQ(model.pieces[0].score, 1);
  EXPECT_EQ(model.pieces[0].type, Type::kUnused);
  EXPECT_EQ(model.kind, SentencePieceModel::Kind::kBpe);
  EXPECT_TRUE(model.byte_fallback);
  EXPECT_EQ(model.precompiled_charsmap, "x");
  EXPECT_FALSE(model.add_dummy_prefix);
  EXPECT_TRUE(model.remove_extra_whitespaces);
  EXPECT_TRUE(model.escape_whitespaces);

  for (const std::string& damaged :
       {bytes.substr(0, bytes.size() - 1), "\x0a"s, "\x0a\x05"s + "ab"s, "\x08\x01"s, "\x0b"s,
        std::string(11, '\xff'), "\x0a\x02\x18\x00"s, "\x0a\x02\x18\x07"s, "\x12\x02\x18\x09"s,
        "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s}) {
    expect_error(ErrorKind::kData, {"it: expected a SentencePiece model"},
                 [&] { read_sentencepiece_model(damaged, "it"); });
  }
}

}  // namespace
}  // namespace saddle::data
