// The field tables: one row for each setting, with everything that is known about it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "config/settings.h"
#include "config/value.h"

namespace saddle::config {

// Whether a run may be continued with another value.
enum class Role {
  kRecipe,     // no: it decides the numbers of the run
  kExecution,  // yes: place, speed, retention, reports
};

struct Field {
  std::string section;  // model
  std::string name;     // width, or GROUP.name in a group of the section
  std::string allowed;  // in words: an integer from 1 to 65536
  std::string meaning;  // one line, with units
  Role role = Role::kExecution;
  bool text = false;       // --set takes the value as it is written
  bool path = false;       // a text that names a file or a directory
  bool path_list = false;  // or a list of them: --set reads [A, B] as YAML
  std::function<bool(const Value&, Settings&)> read;  // false: not allowed, nothing was changed
  std::function<Json(const Settings&)> write;

  std::string key() const { return section + "." + name; }
};

// Every setting, section by section, in the order in which they are written.
std::vector<Field> setting_fields();

// What each section is about, in the same order: {name, one line}.
std::vector<std::pair<std::string, std::string>> setting_sections();

// A value as YAML text that reads back to the same value; numbers in the shortest such form.
std::string yaml_text(const Json& value);

// The value of a field in `settings`, as it is written in a YAML file.
std::string plain_text(const Field& field, const Settings& settings);

}  // namespace saddle::config
