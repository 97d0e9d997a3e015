// Reading the fields of a config.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace saddle::model {

// The fields of an object; a field that is missing or null has its default. Errors: kData, naming
// `where` and the field.
class HuggingFaceFields {
 public:
  HuggingFaceFields(const Json& json, std::string_view where) : json_(json), where_(where) {}

  const Json& json() const { return json_; }
  std::string_view where() const { return where_; }
  bool has(std::string_view name) const {
    const auto found = json_.find(std::string(name));
    return found != json_.end() && !found->is_null();
  }
  const Json& at(std::string_view name) const { return json_[std::string(name)]; }

  // `allowed` completes the sentence "but saddle supports only ...".
  [[noreturn]] void refuse(std::string_view name, std::string_view allowed) const {
    fail(ErrorKind::kData, "{}: {} is {}, but saddle supports only {}", where_, name,
         json_.contains(std::string(name)) ? json_text(at(name)) : "missing", allowed);
  }

  int64_t size(std::string_view name) const {
    if (!has(name)) refuse(name, "models with this field");
    return size(name, 0);
  }
  int64_t size(std::string_view name, int64_t missing) const {
    if (!has(name)) return missing;
    if (!at(name).is_number_integer() || at(name) < 1) refuse(name, "positive integers");
    return at(name).get<int64_t>();
  }
  double positive(std::string_view name, double missing) const {
    if (!has(name)) return missing;
    if (!at(name).is_number() || !(at(name).get<double>() > 0)) {
      refuse(name, "positive numbers");
    }
    return at(name).get<double>();
  }
  // Refuses any value but `allowed`, which is also the default.
  void only(std::string_view name, const Json& allowed) const {
    if (has(name) && at(name) != allowed) refuse(name, json_text(allowed));
  }

 private:
  const Json& json_;
  std::string_view where_;
};

}  // namespace saddle::model
