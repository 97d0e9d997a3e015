#include "model/hugging_face_rope.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

namespace saddle::model {
namespace {

constexpr std::array<const char*, 2> kObjects = {"rope_parameters", "rope_scaling"};
constexpr const char* kTheta = "rope_theta";

// The base of the angles. It is at the top level or, in newer files, under rope_parameters; if it
// occurs several times, all values must agree.
class Theta {
 public:
  void read(const HuggingFaceFields& fields) {
    if (!fields.has(kTheta)) return;
    const double found = fields.positive(kTheta, 0);
    if (value_ && *value_ != found) {
      fail(ErrorKind::kData, "{}: {} is {}, but in {} it is {}", fields.where(), kTheta, found,
           place_, *value_);
    }
    if (!value_) place_ = fields.where();
    value_ = found;
  }
  double value() const { return value_.value_or(10000); }

 private:
  std::optional<double> value_;
  std::string place_;
};

// Fields that may also describe plain rope, with the values that do.
struct PlainValue {
  std::string_view name;
  Json value;
};
std::vector<PlainValue> plain_values(double theta, int64_t head_dim, int64_t positions) {
  return {{"rope_type", "default"},
          {"type", "default"},
          {"factor", 1},
          {"rope_scaling_factor", 1},
          {"partial_rotary_factor", 1},
          {"rotary_pct", 1},
          {"rope_pct", 1},
          {"rotary_dim", head_dim},
          {"rotary_ndims", head_dim},
          {"rotary_emb_base", theta},
          {"rotary_base", theta},
          {"rope_base", theta},
          {"rope_interleaved", false},
          {"rope_interleave", false},
          {"rotary_interleaved", false},
          {"rope_traditional", false},
          {"alibi", false},
          {"use_alibi", false},
          {"use_dynamic_ntk", false},
          {"use_rope", true},
          {"use_rotary", true},
          {"position_embedding_type", "rope"},
          {"original_max_position_embeddings", positions}};
}

// Whether a field outside the objects is about positions, judging by the words of its name.
bool about_positions(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name == "position_embedding_type" || name == "original_max_position_embeddings") return true;
  constexpr std::array<std::string_view, 6> kWords = {"rope", "mrope", "rotary",
                                                      "yarn", "ntk",   "alibi"};
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('_', begin), name.size());
    const std::string_view word = std::string_view(name).substr(begin, end - begin);
    if (std::ranges::any_of(kWords, [&](auto known) { return word.starts_with(known); })) {
      return true;
    }
    begin = end + 1;
  }
  return false;
}

void check_plain(const HuggingFaceFields& fields, const std::string& name,
                 const std::vector<PlainValue>& plain) {
  if (name == kTheta) return;
  const auto known = std::ranges::find(plain, name, &PlainValue::name);
  if (known == plain.end()) fields.refuse(name, "plain rope, without this field");
  fields.only(name, known->value);
}

}  // namespace

double rope_theta_of(const HuggingFaceFields& config, int64_t head_dim) {
  const auto inside = [&](const char* name) {
    if (!config.at(name).is_object()) config.refuse(name, "an object");
    return fmt::format("{}: {}", config.where(), name);
  };
  Theta theta;
  theta.read(config);
  for (const char* name : kObjects) {
    if (!config.has(name)) continue;
    const std::string where = inside(name);
    theta.read(HuggingFaceFields(config.at(name), where));
  }
  const std::vector<PlainValue> plain =
      plain_values(theta.value(), head_dim, config.size("max_position_embeddings", 2048));
  for (const auto& [name, value] : config.json().items()) {
    if (std::ranges::find(kObjects, name) != kObjects.end()) continue;
    if (!value.is_null() && about_positions(name)) check_plain(config, name, plain);
  }
  for (const char* name : kObjects) {
    if (!config.has(name)) continue;
    const std::string where = inside(name);
    const HuggingFaceFields rope(config.at(name), where);
    for (const auto& [key, value] : rope.json().items()) {
      if (!value.is_null()) check_plain(rope, key, plain);
    }
  }
  return theta.value();
}

}  // namespace saddle::model
