#include "base/json.h"

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "base/error.h"

namespace saddle {
namespace {

// Deeper values are refused: writing and comparing them is recursive.
constexpr int kMaximumDepth = 256;

// The library's message without its "[json.exception.name.number] ".
std::string_view plain_message(const Json::exception& error) {
  const std::string_view message = error.what();
  const size_t end = message.find("] ");
  return end == std::string_view::npos ? message : message.substr(end + 2);
}

// Receives the events of a parse and refuses what the library would accept.
class StrictChecker {
 public:
  explicit StrictChecker(std::string_view where) : where_(where) {}

  void see(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (depth > kMaximumDepth) {
      fail(ErrorKind::kData, "{}: JSON nested deeper than {} levels", where_, kMaximumDepth);
    }
    if (event == Event::object_start) {
      keys_.emplace_back();
    } else if (event == Event::object_end) {
      keys_.pop_back();
    } else if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) {
        fail(ErrorKind::kData, "{}: the key \"{}\" occurs twice in one JSON object", where_, key);
      }
    }
  }

 private:
  std::string where_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

// The text of a value; an error unless its strings are UTF-8. `what` names the value in the error.
template <class Value>
std::string exact_text(const Value& value, int indent, std::string_view what) {
  try {
    return value.dump(indent);
  } catch (const Json::exception& error) {
    fail(ErrorKind::kData, "{} cannot be written as JSON: {}", what, plain_message(error));
  }
}

}  // namespace

Json json_number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

int64_t json_integer(const Json& value) {
  const bool fits = !value.is_number_unsigned() ||
                    value.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
  if (value.is_number_integer() && fits) return value.get<int64_t>();
  throw Json::type_error::create(302, "expected an integer, found " + json_text(value), &value);
}

Json parse_json(std::string_view text, std::string_view where) {
  // The library takes a NUL byte for the end of the text and would ignore what follows.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    fail(ErrorKind::kData, "{}: not valid JSON at byte {}: a NUL byte", where, nul + 1);
  }
  StrictChecker checker(where);
  try {
    return Json::parse(text, [&](int depth, Json::parse_event_t event, Json& parsed) {
      checker.see(depth, event, parsed);
      return true;
    });
  } catch (const Json::parse_error& error) {
    fail(ErrorKind::kData, "{}: not valid JSON at byte {}: {}", where, error.byte,
         plain_message(error));
  } catch (const Json::exception& error) {
    fail(ErrorKind::kData, "{}: not valid JSON: {}", where, plain_message(error));
  }
}

Json read_json(const Path& path) {
  return parse_json(read_file(path), path.string());
}

Json read_json_object(const Path& path) {
  Json json = read_json(path);
  if (!json.is_object()) {
    fail(ErrorKind::kData, "{}: expected a JSON object, found {}", path.string(), json.type_name());
  }
  return json;
}

std::string canonical_json(const Json& value) {
  // nlohmann::json keeps its keys in a std::map, so the conversion sorts them at every level.
  return exact_text(nlohmann::json(value), -1, "a value");
}

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void write_json(const Path& path, const Json& value) {
  write_file_atomically(path, json_text(value, 2) + "\n");
}

void write_exact_json(const Path& path, const Json& value) {
  write_file_atomically(path, exact_text(value, 2, path.string()) + "\n");
}

}  // namespace saddle
