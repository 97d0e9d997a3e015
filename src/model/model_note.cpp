#include "model/model_note.h"

#include "base/error.h"
#include "base/json.h"
#include "config/fields.h"
#include "config/load.h"
#include "config/recipe.h"

namespace saddle::model {
namespace {

constexpr const char* kKey = "saddle.weights";  // {"recipe": {"model.layers": 8, ...}, ...}
constexpr std::string_view kSection = "model.";

}  // namespace

std::map<std::string, std::string> model_note(const config::ModelSettings& model) {
  config::Settings settings;
  settings.model = model;
  Json recipe = Json::object();
  const Json all = config::recipe(settings);
  for (const auto& [key, value] : all.items()) {
    if (key.starts_with(kSection)) recipe[key] = value;
  }
  return {{kKey, Json{{"recipe", recipe}}.dump()}};
}

std::optional<config::ModelSettings> noted_model(const std::map<std::string, std::string>& metadata,
                                                 std::string_view where) {
  const auto note = metadata.find(kKey);
  if (note == metadata.end()) return std::nullopt;
  const std::string place = fmt::format("{} (metadata)", where);
  const Json json = parse_json(note->second, place);
  if (!json.is_object() || !json.contains("recipe") || !json["recipe"].is_object()) {
    fail(ErrorKind::kData, "{}: {} holds no recipe", place, kKey);
  }
  std::string yaml = "model:\n";
  for (const config::Field& field : config::setting_fields()) {
    if (!field.key().starts_with(kSection)) continue;
    if (!json["recipe"].contains(field.key())) return std::nullopt;  // no guesses about the rest
    yaml += fmt::format("  {}: {}\n", field.name, config::yaml_text(json["recipe"][field.key()]));
  }
  config::Settings settings;
  config::apply_yaml(yaml, place, settings);
  return settings.model;
}

}  // namespace saddle::model
