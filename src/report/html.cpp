#include "report/html.h"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>

#include "base/text.h"

namespace saddle::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// UTF-8 without the control characters that HTML does not allow.
std::string allowed_text(std::string_view text) {
  std::string result;
  for (const char c : utf8(text)) {
    const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    result += control ? std::string(kReplacement) : std::string(1, c);
  }
  return result;
}

}  // namespace

std::string html(std::string_view text) {
  std::string result;
  for (const char c : allowed_text(text)) {
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
