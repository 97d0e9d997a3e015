#include "model/model_note.h"

#include "base/error.h"
#include "base/json.h"
#include "config/fields.h"
#include "config/load.h"
#include "config/recipe.h"

namespace saddle::model {
namespace {

// Metadata key of weight files and state files: holds {"recipe": {"model.layers": 8, ...}, ...}.
constexpr const char* kKey = "saddle.weights";
constexpr const char* kStateKey = "saddle.state";
constexpr std::string_view kSection = "model.";

// The settings of a model in the form of a recipe.
Json model_recipe(const config::ModelSettings& model) {
  config::Settings settings;
  settings.model = model;
  Json recipe = Json::object();
  const Json all = config::recipe(settings);
  for (const auto& [key, value] : all.items()) {
    if (key.starts_with(kSection)) recipe[key] = value;
  }
  return recipe;
}

}  // namespace

std::map<std::string, std::string> model_note(const config::ModelSettings& model) {
  return {{kKey, Json{{"recipe", model_recipe(model)}}.dump()}};
}

void check_noted_model(const std::map<std::string, std::string>& metadata, std::string_view where,
                       const config::ModelSettings& model) {
  std::optional<config::ModelSettings> noted = noted_model(metadata, where);
  if (!noted) return;
  noted->context_length = model.context_length;
  const Json expected = model_recipe(model);
  const Json found = model_recipe(*noted);
  std::string list;
  for (const std::string& key : config::differing_fields(expected, found)) {
    list += fmt::format("{}{} (expected {}, found {})", list.empty() ? "" : ", ", key,
                        expected.at(key).dump(), found.at(key).dump());
  }
  if (!list.empty()) fail(ErrorKind::kData, "{}: weights of another model: {}", where, list);
}

std::optional<config::ModelSettings> noted_model(const std::map<std::string, std::string>& metadata,
                                                 std::string_view where) {
  auto note = metadata.find(kKey);
  if (note == metadata.end()) note = metadata.find(kStateKey);
  if (note == metadata.end()) return std::nullopt;
  const std::string place = fmt::format("{} (metadata)", where);
  const Json json = parse_json(note->second, place);
  if (!json.is_object() || !json.contains("recipe") || !json["recipe"].is_object()) {
    fail(ErrorKind::kData, "{}: {} contains no recipe", place, note->first);
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
