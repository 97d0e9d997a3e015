// The types that a setting can have. Each type describes in words what it allows, reads a Value
// (false when the value is not allowed; the target is then unchanged), and writes itself as JSON.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "config/settings.h"
#include "config/value.h"

namespace saddle::config {

struct Integer {
  using Type = int64_t;
  int64_t low = 0;
  int64_t high = std::numeric_limits<int64_t>::max();

  std::string allowed() const;
  bool read(const Value& value, int64_t& target) const;  // decimal digits with an optional sign
  Json write(int64_t value) const { return value; }
};

// A finite number in an interval whose ends may be excluded.
struct Real {
  using Type = double;
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;

  static Real at_least(double low) { return {.low = low}; }
  static Real above(double low) { return {.low = low, .low_open = true}; }
  static Real between(double low, double high) { return {.low = low, .high = high}; }
  static Real from_to_below(double low, double high) {
    return {.low = low, .high = high, .high_open = true};
  }
  static Real above_up_to(double low, double high) {
    return {.low = low, .high = high, .low_open = true};
  }

  std::string allowed() const;
  bool read(const Value& value, double& target) const;
  Json write(double value) const { return value; }
};

struct Boolean {
  using Type = bool;
  std::string allowed() const { return "true or false"; }
  bool read(const Value& value, bool& target) const;
  Json write(bool value) const { return value; }
};

struct Text {
  using Type = std::string;
  std::string allowed() const { return "non-empty text in UTF-8"; }
  bool read(const Value& value, std::string& target) const;
  Json write(const std::string& value) const { return value; }
};

// A text that is a path. ~ alone or before a slash becomes the home directory when it is read, so
// that records contain the whole path. ~name is not allowed, because a shell would read it as the
// home of another user; ./~name is a file of that name.
struct PathText {
  using Type = std::string;
  std::string allowed() const {
    return "a non-empty path in UTF-8, with no leading ~ except in ~/, the home directory (HOME)";
  }
  bool read(const Value& value, std::string& target) const;
  Json write(const std::string& value) const { return value; }
};

// A list of paths, or one path, which is read as a list of one; null is the empty list.
struct PathList {
  using Type = std::vector<std::string>;

  std::string allowed() const {
    return "null or " + PathText{}.allowed() + ", or a list of such paths";
  }
  bool read(const Value& value, std::vector<std::string>& target) const;
  Json write(const std::vector<std::string>& value) const;
};

// A list of integers, or one integer, which is read as a list of one; null is the empty list.
struct IntegerList {
  using Type = std::vector<int64_t>;
  Integer element;

  std::string allowed() const;
  bool read(const Value& value, std::vector<int64_t>& target) const;
  Json write(const std::vector<int64_t>& value) const;
};

// A URL. Records show it without its login.
struct Url : Text {
  Json write(const std::string& value) const;
};

// The names of an enum class, in the order of its enumerators.
template <class Enum>
inline constexpr std::array<std::string_view, 0> kChoiceNames{};
template <>
inline constexpr std::array<std::string_view, 3> kChoiceNames<Device>{"cpu", "cuda", "auto"};
template <>
inline constexpr std::array<std::string_view, 2> kChoiceNames<Precision>{"float32", "float64"};
template <>
inline constexpr std::array<std::string_view, 3> kChoiceNames<CompileMode>{
    "default", "reduce-overhead", "max-autotune"};
template <>
inline constexpr std::array<std::string_view, 3> kChoiceNames<SdpaBackend>{"auto", "flash",
                                                                           "cudnn"};
template <>
inline constexpr std::array<std::string_view, 5> kChoiceNames<CheckpointPolicy>{
    "final", "interval", "explicit", "all", "none"};
template <>
inline constexpr std::array<std::string_view, 3> kChoiceNames<Topology>{"complete", "one_peer_ring",
                                                                        "one_peer_exponential"};
template <>
inline constexpr std::array<std::string_view, 2> kChoiceNames<Scheme>{"awc", "atc"};

template <class Enum>
struct Choice {
  using Type = Enum;

  std::string allowed() const {
    std::string text = "one of";
    for (size_t i = 0; i < kChoiceNames<Enum>.size(); ++i) {
      text.append(i == 0 ? " " : ", ").append(kChoiceNames<Enum>[i]);
    }
    return text;
  }
  bool read(const Value& value, Enum& target) const {
    if (value.kind != Value::Kind::kPlain && value.kind != Value::Kind::kQuoted) return false;
    for (size_t i = 0; i < kChoiceNames<Enum>.size(); ++i) {
      if (value.text == kChoiceNames<Enum>[i]) {
        target = static_cast<Enum>(i);
        return true;
      }
    }
    return false;
  }
  Json write(Enum value) const { return kChoiceNames<Enum>[static_cast<size_t>(value)]; }
};

// Null, or a value of another type.
template <class Inner>
struct Nullable {
  using Type = std::optional<typename Inner::Type>;
  Inner inner;

  std::string allowed() const { return "null or " + inner.allowed(); }
  bool read(const Value& value, Type& target) const {
    if (value.kind == Value::Kind::kNull) {
      target.reset();
      return true;
    }
    typename Inner::Type read_value{};
    if (!inner.read(value, read_value)) return false;
    target = std::move(read_value);
    return true;
  }
  Json write(const Type& value) const { return value ? inner.write(*value) : Json(); }
};
template <class Inner>
Nullable(Inner) -> Nullable<Inner>;

}  // namespace saddle::config
