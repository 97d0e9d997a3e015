#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace saddle::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the character that begins at `at`, or 0 when that is not UTF-8.
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

}  // namespace

std::string utf8(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const size_t count = character_bytes(text, i);
    const bool control = count == 1 && static_cast<unsigned char>(text[i]) < 0x20;
    if (count == 0 || (control && text[i] != '\n' && text[i] != '\t')) {
      result += kReplacement;
    } else {
      result += text.substr(i, count);
    }
    i += std::max<size_t>(count, 1);
  }
  return result;
}

std::string html(std::string_view text) {
  std::string result;
  for (const char c : utf8(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string relative_url(const Path& target, const Path& directory) {
  const Path relative = std::filesystem::weakly_canonical(target).lexically_relative(
      std::filesystem::weakly_canonical(directory));
  std::string url;
  for (const char c : relative.generic_string()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    url += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return url;
}

std::string script_json(const Json& value) {
  std::string text;
  for (const char c : value.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  }
  return text;
}

}  // namespace saddle::report
