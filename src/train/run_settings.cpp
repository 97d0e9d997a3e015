#include "train/run_settings.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "base/json.h"
#include "config/fields.h"
#include "config/load.h"

namespace saddle::train {
namespace {

Path started_in(const Path& run) {
  const Path file = run / "environment.json";
  if (std::filesystem::exists(file_status(file))) {
    const Json environment = read_json(file);
    const Json folder = environment.is_object() ? environment.value("started_in", Json()) : Json();
    if (folder.is_string()) return folder.get<std::string>();
  }
  return std::filesystem::current_path();
}

}  // namespace

config::Settings run_settings(const Path& run) {
  config::Settings settings;
  const Path file = run / "resolved.yaml";
  config::apply_yaml(read_file(file), file.string(), settings);
  for (const config::Field& field : config::setting_fields()) {
    const Json value = field.path ? field.write(settings) : Json();
    if (!value.is_string()) continue;
    const Path path = value.get<std::string>();
    std::error_code ignored;  // an error means that it does not exist for us
    if (path.is_absolute() || std::filesystem::exists(path, ignored)) continue;
    field.read({.kind = config::Value::Kind::kQuoted, .text = (started_in(run) / path).string()},
               settings);
  }
  return settings;
}

}  // namespace saddle::train
