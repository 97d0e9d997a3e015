// JSON and settings.
#include "base/json.h"
#include "config/load.h"
#include "config/recipe.h"
#include "fuzz/targets.h"

namespace saddle::fuzz {
namespace {

// What was read is written so that it reads back to the same.
void check_settings_text(const config::Settings& settings) {
  config::Settings again;
  config::apply_yaml(config::to_yaml(settings), "written", again);
  require(again == settings, "settings do not read back as they were written");
  const Json recipe = config::recipe(settings);
  require(config::differing_fields(recipe, config::recipe(again)).empty(), "the recipe changed");
}

}  // namespace

void json(std::string_view bytes, Scratch&) {
  Json value;
  if (!accepts([&] { value = parse_json(bytes, "the text"); })) return;
  for (const int indent : {-1, 2}) {
    require(parse_json(json_text(value, indent), "written") == value,
            "JSON does not read back as it was written");
  }
  const std::string canonical = canonical_json(value);
  require(canonical_json(parse_json(canonical, "canonical")) == canonical,
          "the canonical form of the canonical form differs");
}

void settings(std::string_view bytes, Scratch&) {
  config::Settings settings;
  if (!accepts([&] { config::apply_yaml(bytes, "a.yaml", settings); })) return;
  check_settings_text(settings);
  accepts([&] { config::check_settings(settings); });
}

void set(std::string_view bytes, Scratch&) {
  config::Settings settings;
  while (!bytes.empty()) {
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
    config::Settings changed = settings;
    if (accepts([&] { config::apply_override(line, changed); })) settings = changed;
  }
  check_settings_text(settings);
  accepts([&] { config::check_settings(settings); });
}

}  // namespace saddle::fuzz
