// Settings as text: YAML, the recipe, and the page of options.
#include <fmt/format.h>

#include <algorithm>

#include "config/fields.h"
#include "config/load.h"
#include "config/options.h"
#include "config/recipe.h"

namespace saddle::config {
namespace {

// The shortest decimal form that reads back to the same double, with a point, because some YAML
// readers require one in a number with an exponent.
std::string real_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find('.') == std::string::npos) {
    text.insert(std::min(text.find('e'), text.size()), ".0");
  }
  return text;
}

}  // namespace

std::string yaml_text(const Json& value) {
  if (value.is_number_float()) return real_text(value.get<double>());
  if (!value.is_array()) return value.dump();  // JSON's text is quoted as YAML quotes it
  std::string text = "[";
  for (size_t i = 0; i < value.size(); ++i) {
    text.append(i == 0 ? "" : ", ").append(yaml_text(value[i]));
  }
  return text + "]";
}

std::string plain_text(const Field& field, const Settings& settings) {
  const Json value = field.write(settings);
  return value.is_string() && !field.text ? value.get<std::string>() : yaml_text(value);
}

std::string to_yaml(const Settings& settings) {
  std::string text;
  std::string section;
  std::string group;
  for (const Field& field : setting_fields()) {
    if (field.section != section) {
      text += fmt::format("{}{}:\n", section.empty() ? "" : "\n", field.section);
      section = field.section;
    }
    const size_t dot = field.name.find('.');
    const bool grouped = dot != std::string::npos;
    const std::string its_group = grouped ? field.name.substr(0, dot) : "";
    if (grouped && its_group != group) text += fmt::format("  {}:\n", its_group);
    group = its_group;
    text += fmt::format("{}{}: {}\n", grouped ? "    " : "  ",
                        field.name.substr(grouped ? dot + 1 : 0), plain_text(field, settings));
  }
  return text;
}

Json to_json(const Settings& settings) {
  Json fields = Json::object();
  for (const Field& field : setting_fields()) fields[field.key()] = field.write(settings);
  return fields;
}

Json recipe(const Settings& given) {
  Settings settings = given;
  AdaptiveConsensusSettings& adaptive = settings.decentralized.adaptive_consensus;
  if (adaptive.start_frac) adaptive.p = adaptive.p.value_or(1.0);  // null means 1
  Json fields = Json::object();
  for (const Field& field : setting_fields()) {
    if (field.role == Role::kRecipe) fields[field.key()] = field.write(settings);
  }
  return fields;
}

std::vector<std::string> differing_fields(const Json& a, const Json& b) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : a.items()) {
    if (!b.contains(key) || b.at(key) != value) keys.push_back(key);
  }
  for (const auto& [key, value] : b.items()) {
    if (!a.contains(key)) keys.push_back(key);
  }
  return keys;
}

std::string options_markdown() {
  std::string text =
      "# Settings\n"
      "\n"
      "This page is the output of `saddle options`.\n"
      "\n"
      "A setting is given in a YAML file (`--config FILE`) or on the command line\n"
      "(`--set section.name=value`). Both may be repeated: the files are merged in order, then\n"
      "the `--set`s are applied, and if a setting has two values, the later one wins. A list is\n"
      "replaced as a whole. Unknown settings, wrong types and values that are not allowed are\n"
      "refused. Text in YAML may be quoted; after `--set` it is taken as written, and lists and\n"
      "other values are read as YAML (`--set optimizer.grad_clip=null`,\n"
      "`--set 'training.checkpoint_epochs=[1, 2]'`, `--set 'data.source=[a.jsonl, b.jsonl]'`).\n"
      "\n"
      "Settings marked *fixed* decide the numbers of a run: it can be resumed only with the same\n"
      "values (and the same token cache). The others may change when a run is resumed.\n";
  const std::vector<Field> fields = setting_fields();
  for (const auto& [section, meaning] : setting_sections()) {
    text += fmt::format("\n## {}\n\n{}\n\n", section, meaning);
    text += "| setting | default | allowed | meaning | on resume |\n|---|---|---|---|---|\n";
    for (const Field& field : fields) {
      if (field.section != section) continue;
      text += fmt::format("| `{}` | {} | {} | {} | {} |\n", field.key(),
                          plain_text(field, Settings{}), field.allowed, field.meaning,
                          field.role == Role::kRecipe ? "fixed" : "may change");
    }
  }
  return text;
}

}  // namespace saddle::config
