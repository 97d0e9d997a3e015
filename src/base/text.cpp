#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace saddle {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;  // C1
}

std::string without_controls(std::string_view text, bool keep_line_ends) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const size_t count = character_bytes(text, i);
    const std::string_view piece = text.substr(i, std::max<size_t>(count, 1));
    const bool line_end = keep_line_ends && piece == "\n";
    if (line_end || (count > 0 && !is_control(piece))) {
      result += piece;
    } else {
      for (const char c : piece) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    i += piece.size();
  }
  return result;
}

}  // namespace

size_t character_bytes(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const size_t count = first < 0x80   ? 1
                       : first < 0xC2 ? 0
                       : first < 0xE0 ? 2
                       : first < 0xF0 ? 3
                       : first < 0xF5 ? 4
                                      : 0;
  if (count == 0 || at + count > text.size()) return 0;
  for (size_t i = 1; i < count; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  if (first == 0xE0 && byte(at + 1) < 0xA0) return 0;   // overlong
  if (first == 0xED && byte(at + 1) >= 0xA0) return 0;  // surrogates
  if (first == 0xF0 && byte(at + 1) < 0x90) return 0;   // overlong
  if (first == 0xF4 && byte(at + 1) >= 0x90) return 0;  // over U+10FFFF
  return count;
}

std::string utf8(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const size_t count = character_bytes(text, i);
    result += count == 0 ? kReplacement : text.substr(i, count);
    i += std::max<size_t>(count, 1);
  }
  return result;
}

std::string printable(std::string_view text) {
  return without_controls(text, false);
}

std::string printable_lines(std::string_view text) {
  return without_controls(text, true);
}

std::string without_logins(std::string_view text, std::string_view replacement) {
  constexpr std::string_view kBegin = "://";
  std::string result;
  while (true) {
    const size_t begin = text.find(kBegin);
    if (begin == std::string_view::npos) return result.append(text);
    result += text.substr(0, begin + kBegin.size());
    text.remove_prefix(begin + kBegin.size());
    const std::string_view authority = text.substr(0, text.find_first_of("/?# \t\r\n"));
    const size_t at = authority.rfind('@');
    if (at == std::string_view::npos) continue;
    result += replacement;
    text.remove_prefix(at + 1);
  }
}

}  // namespace saddle
