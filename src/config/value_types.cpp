#include "config/value_types.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/environment.h"
#include "base/text.h"

namespace saddle::config {
namespace {

// The whole text as a number; nullopt when it is anything else or does not fit the type.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string found_text(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kPlain:
      return value.text;
    case Value::Kind::kQuoted:
      return json_text(value.text);
    case Value::Kind::kList: {
      std::string text = "[";
      for (size_t i = 0; i < value.items.size(); ++i) {
        text.append(i == 0 ? "" : ", ").append(found_text(value.items[i]));
      }
      return text + "]";
    }
    case Value::Kind::kOther:
      break;
  }
  return value.text;
}

std::string Integer::allowed() const {
  return fmt::format("an integer from {} to {}", low, high);
}

bool Integer::read(const Value& value, int64_t& target) const {
  if (value.kind != Value::Kind::kPlain) return false;
  const std::optional<int64_t> number = parse_number<int64_t>(value.text);
  if (!number || *number < low || *number > high) return false;
  target = *number;
  return true;
}

std::string Real::allowed() const {
  if (std::isinf(high)) {
    return low_open ? fmt::format("a number greater than {}", low)
                    : fmt::format("a number of at least {}", low);
  }
  return fmt::format("a number {} {} {} {}", low_open ? "greater than" : "from", low,
                     low_open    ? "and at most"
                     : high_open ? "to below"
                                 : "to",
                     high);
}

bool Real::read(const Value& value, double& target) const {
  if (value.kind != Value::Kind::kPlain) return false;
  const std::optional<double> number = parse_number<double>(value.text);
  if (!number || !std::isfinite(*number)) return false;
  if (*number < low || (low_open && *number == low)) return false;
  if (*number > high || (high_open && *number == high)) return false;
  target = *number;
  return true;
}

bool Boolean::read(const Value& value, bool& target) const {
  if (value.kind != Value::Kind::kPlain) return false;
  if (value.text != "true" && value.text != "false") return false;
  target = value.text == "true";
  return true;
}

bool Text::read(const Value& value, std::string& target) const {
  if (value.kind != Value::Kind::kPlain && value.kind != Value::Kind::kQuoted) return false;
  // A NUL would end a path early.
  if (value.text.empty() || value.text.find('\0') != std::string::npos) return false;
  if (utf8(value.text) != value.text) return false;
  target = value.text;
  return true;
}

bool PathText::read(const Value& value, std::string& target) const {
  std::string path;
  if (!Text{}.read(value, path)) return false;
  if (path.starts_with('~')) {
    const std::string home = environment_variable("HOME");
    if (!(path == "~" || path.starts_with("~/")) || !home.starts_with('/')) return false;
    path = home + path.substr(1);
    if (utf8(path) != path) return false;
  }
  target = path;
  return true;
}

std::string IntegerList::allowed() const {
  return fmt::format("{}, or a list of such integers, or null", element.allowed());
}

bool IntegerList::read(const Value& value, std::vector<int64_t>& target) const {
  std::vector<int64_t> numbers;
  if (value.kind == Value::Kind::kList) {
    for (const Value& item : value.items) {
      if (!element.read(item, numbers.emplace_back())) return false;
    }
  } else if (value.kind != Value::Kind::kNull) {
    if (!element.read(value, numbers.emplace_back())) return false;
  }
  target = std::move(numbers);
  return true;
}

Json IntegerList::write(const std::vector<int64_t>& value) const {
  if (value.empty()) return Json();
  if (value.size() == 1) return value.front();
  return value;
}

bool PathList::read(const Value& value, std::vector<std::string>& target) const {
  std::vector<std::string> texts;
  if (value.kind == Value::Kind::kList) {
    for (const Value& item : value.items) {
      if (!PathText{}.read(item, texts.emplace_back())) return false;
    }
  } else if (value.kind != Value::Kind::kNull) {
    if (!PathText{}.read(value, texts.emplace_back())) return false;
  }
  target = std::move(texts);
  return true;
}

Json PathList::write(const std::vector<std::string>& value) const {
  if (value.empty()) return Json();
  if (value.size() == 1) return value.front();
  return value;
}

Json Url::write(const std::string& value) const {
  return without_logins(value, "");
}

std::string_view name(Device value) {
  return kChoiceNames<Device>[static_cast<size_t>(value)];
}
std::string_view name(Precision value) {
  return kChoiceNames<Precision>[static_cast<size_t>(value)];
}
std::string_view name(CompileMode value) {
  return kChoiceNames<CompileMode>[static_cast<size_t>(value)];
}
std::string_view name(SdpaBackend value) {
  return kChoiceNames<SdpaBackend>[static_cast<size_t>(value)];
}
std::string_view name(CheckpointPolicy value) {
  return kChoiceNames<CheckpointPolicy>[static_cast<size_t>(value)];
}
std::string_view name(Topology value) {
  return kChoiceNames<Topology>[static_cast<size_t>(value)];
}
std::string_view name(Scheme value) {
  return kChoiceNames<Scheme>[static_cast<size_t>(value)];
}

}  // namespace saddle::config
