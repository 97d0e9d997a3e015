#include "report/settings_table.h"

#include <algorithm>
#include <set>

#include "config/fields.h"

namespace saddle::report {
namespace {

struct Entry {
  std::string key;
  bool decides_numbers = false;
  std::vector<std::string> values;
};

std::string plain(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<Entry> settings_of(const std::vector<Run>& runs) {
  std::vector<Entry> entries;
  for (const config::Field& field : config::setting_fields()) {
    if (field.key() == "runtime.output_dir") continue;
    Entry entry{field.key(), field.role == config::Role::kRecipe, {}};
    for (const Run& run : runs) {
      entry.values.push_back(run.readable ? config::yaml_text(field.write(run.record.settings))
                                          : std::string());
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

// environment.json: the records of the program, the data and the machine.
void add_environment(const std::vector<Run>& runs, std::vector<Entry>& entries) {
  std::vector<std::vector<const char*>> paths = {{"data_identity"}, {"device"}, {"threads"}};
  for (const char* key :
       {"version", "revision", "changed", "compiler", "flags", "operation_flags", "build_type"}) {
    paths.push_back({"build", key});
  }
  for (const char* key : {"processor", "cores", "memory_bytes", "system", "kernel"}) {
    paths.push_back({"machine", key});
  }
  for (const auto& path : paths) {
    Entry entry{path.size() == 1 ? path[0] : std::string(path[0]) + " " + path[1],
                path[0] == std::string_view("data_identity"),
                {}};
    for (const Run& run : runs) {
      const Json value = train::json_at(run.record.environment, path);
      entry.values.push_back(value.is_null() ? "" : plain(value));
    }
    entries.push_back(std::move(entry));
  }
}

}  // namespace

SettingsTable compare_settings(const std::vector<Run>& runs) {
  std::vector<Entry> entries = settings_of(runs);
  add_environment(runs, entries);
  SettingsTable table;
  for (Entry& entry : entries) {
    std::set<std::string> different(entry.values.begin(), entry.values.end());
    different.erase("");
    if (different.size() == 1) {
      table.common.emplace_back(entry.key, *different.begin());
    } else if (different.size() > 1) {
      table.differing.push_back({entry.key, entry.decides_numbers, std::move(entry.values)});
    }
  }
  // Not std::ranges: clang 14, used by lint.sh, does not compile its result.
  std::stable_partition(table.differing.begin(), table.differing.end(),
                        [](const DifferingSetting& setting) { return setting.decides_numbers; });
  return table;
}

}  // namespace saddle::report
