#include "data/tokenizer_json.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/text.h"

namespace saddle::data {
namespace {

using Kind = SentencePieceModel::Kind;
using Piece = SentencePieceModel::Piece;
using PieceType = SentencePieceModel::PieceType;

constexpr std::string_view kSpace = "\u2581";  // how a piece writes a space

bool continues_character(char byte) {
  return (static_cast<uint8_t>(byte) & 0xc0) == 0x80;
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1;
    while (end < text.size() && continues_character(text[end])) ++end;
    parts.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return parts;
}

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // EVP_EncodeBlock ends it with a NUL
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(length));
  return text;
}

Json replace(const char* kind, std::string_view pattern, std::string_view content) {
  return {{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", content}};
}

Json normalizer(const SentencePieceModel& model) {
  Json steps = Json::array();
  if (!model.precompiled_charsmap.empty()) {
    steps.push_back(
        {{"type", "Precompiled"}, {"precompiled_charsmap", base64(model.precompiled_charsmap)}});
  }
  if (model.remove_extra_whitespaces) {
    steps.push_back(replace("Regex", "\\A +", ""));
    steps.push_back(replace("Regex", "[ \u2581]+\\z", ""));
    steps.push_back(replace("Regex", " {2,}", " "));
  }
  if (model.add_dummy_prefix) steps.push_back({{"type", "Prepend"}, {"prepend", kSpace}});
  steps.push_back(replace("String", " ", kSpace));
  return {{"type", "Sequence"}, {"normalizers", steps}};
}

Json decoder(const SentencePieceModel& model) {
  Json steps = {replace("String", kSpace, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  if (model.add_dummy_prefix || model.remove_extra_whitespaces) {
    steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  return {{"type", "Sequence"}, {"decoders", steps}};
}

Json added_tokens(const SentencePieceModel& model) {
  Json tokens = Json::array();
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const Piece& piece = model.pieces[id];
    if (piece.type != PieceType::kUnknown && piece.type != PieceType::kControl) continue;
    tokens.push_back({{"id", id},
                      {"content", piece.text},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false},
                      {"special", true}});
  }
  return tokens;
}

size_t unknown_id(const SentencePieceModel& model) {
  return std::ranges::find(model.pieces, PieceType::kUnknown, &Piece::type) - model.pieces.begin();
}

// SentencePiece joins the two neighbours whose joint piece has the best score; the file lists pairs
// in the order in which they are joined. So it lists every way to divide each piece, those of the
// pieces with the best score first. Byte and special pieces are never the result of joining.
Json merges(const SentencePieceModel& model) {
  std::unordered_map<std::string_view, size_t> normal;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    if (model.pieces[id].type == PieceType::kNormal) normal[model.pieces[id].text] = id;
  }
  std::vector<std::tuple<float, size_t, size_t>>
      pairs;  // score negated, id, bytes of the left part
  for (const auto& [text, id] : normal) {
    for (size_t cut = 1; cut < text.size(); ++cut) {
      if (continues_character(text[cut])) continue;
      if (normal.contains(text.substr(0, cut)) && normal.contains(text.substr(cut))) {
        pairs.emplace_back(-model.pieces[id].score, id, cut);
      }
    }
  }
  std::ranges::sort(pairs);
  Json list = Json::array();
  for (const auto& [score, id, cut] : pairs) {
    const std::string& text = model.pieces[id].text;
    list.push_back(text.substr(0, cut) + " " + text.substr(cut));
  }
  return list;
}

Json bpe(const SentencePieceModel& model) {
  std::vector<std::pair<std::string, Json>> ids;
  for (size_t id = 0; id < model.pieces.size(); ++id) ids.emplace_back(model.pieces[id].text, id);
  // Built at once: adding keys one by one would compare each with all before it.
  const Json vocabulary = Json::object_t(ids.begin(), ids.end());
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", model.pieces[unknown_id(model)].text},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", true},
          {"byte_fallback", model.byte_fallback},
          {"ignore_merges", false},
          {"vocab", vocabulary},
          {"merges", merges(model)}};
}

// The characters of all ordinary pieces.
std::set<std::string_view> known_characters(const SentencePieceModel& model) {
  std::set<std::string_view> known;
  for (const Piece& piece : model.pieces) {
    if (piece.type != PieceType::kNormal) continue;
    for (const std::string_view character : characters(piece.text)) known.insert(character);
  }
  return known;
}

// The library finds the names of special and byte pieces in a text as if they were ordinary ones. A
// score below that of any other way to write such a name prevents that; it is no lower than needed,
// since the score of an unknown character depends on it.
Json unigram(const SentencePieceModel& model) {
  double lowest = 0;
  size_t longest = 0;
  for (const Piece& piece : model.pieces) {
    if (piece.type == PieceType::kNormal) {
      lowest = std::min<double>(lowest, piece.score);
    } else {
      longest = std::max(longest, piece.text.size());
    }
  }
  const double never = (lowest - 1) * static_cast<double>(longest + 1);
  Json vocabulary = Json::array();
  for (const Piece& piece : model.pieces) {
    const double score = piece.type == PieceType::kNormal ? piece.score : never;
    vocabulary.push_back(Json::array({piece.text, score}));
  }
  return {{"type", "Unigram"},
          {"unk_id", unknown_id(model)},
          {"vocab", vocabulary},
          {"byte_fallback", model.byte_fallback}};
}

std::string escaped(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

// Such a score does not help where a name has a character that no ordinary piece has, since that
// one is just as costly. There, a text is cut within the name, next to that character: no piece
// spans the cut. Null when every name can be written with ordinary pieces.
Json cuts_in_names(const SentencePieceModel& model) {
  const std::set<std::string_view> known = known_characters(model);
  std::string pattern;
  for (const Piece& piece : model.pieces) {
    if (piece.type == PieceType::kNormal) continue;
    size_t cut = 0;
    for (const std::string_view character : characters(piece.text)) {
      if (!known.contains(character)) {
        if (cut == 0) cut = character.size();
        pattern += fmt::format("{}{}(?={})", pattern.empty() ? "" : "|",
                               escaped(piece.text.substr(0, cut)), escaped(piece.text.substr(cut)));
        break;
      }
      cut += character.size();
    }
  }
  if (pattern.empty()) return nullptr;
  return {{"type", "Split"},
          {"pattern", {{"Regex", pattern}}},
          {"behavior", "MergedWithPrevious"},
          {"invert", false}};
}

}  // namespace

std::optional<std::string> without_tokenizer_json(const SentencePieceModel& model) {
  if (model.kind != Kind::kBpe && model.kind != Kind::kUnigram) {
    return "it is neither a bpe nor a unigram model";
  }
  if (model.treat_whitespace_as_suffix) return "it puts spaces at the end of its pieces";
  if (!model.escape_whitespaces) return "it does not write a space as U+2581";
  if (unknown_id(model) == model.pieces.size()) return "it has no piece for unknown characters";
  std::set<std::string_view> normal;
  for (const Piece& piece : model.pieces) {
    if (utf8(piece.text) != piece.text) return "a piece is not UTF-8";
    if (piece.text.find(' ') != std::string::npos) return "a piece contains a space";
    if (piece.type == PieceType::kUserDefined || piece.type == PieceType::kUnused) {
      return fmt::format("the piece {} is {}", printable(piece.text),
                         piece.type == PieceType::kUnused ? "unused" : "user-defined");
    }
    if (piece.type == PieceType::kNormal) normal.insert(piece.text);
  }
  if (model.kind == Kind::kUnigram) return std::nullopt;
  for (const std::string_view character : known_characters(model)) {
    if (!normal.contains(character)) {
      return fmt::format("the character {} is in a piece but is not a piece", printable(character));
    }
  }
  return std::nullopt;
}

Json tokenizer_json(const SentencePieceModel& model) {
  const bool is_bpe = model.kind == Kind::kBpe;
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added_tokens(model)},
          {"normalizer", normalizer(model)},
          {"pre_tokenizer", is_bpe ? Json() : cuts_in_names(model)},
          {"post_processor", nullptr},
          {"decoder", decoder(model)},
          {"model", is_bpe ? bpe(model) : unigram(model)}};
}

}  // namespace saddle::data
