#include "config/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace saddle::config {
namespace {

// A third of the letters may be wrong.
bool near(int distance, std::string_view text) {
  return distance <= std::max<int>(1, static_cast<int>(text.size()) / 3);
}

// "the settings of optimizer are lr, ..."; for an unknown section, the text of suggest_section.
std::string settings_of(const std::vector<Field>& fields, std::string_view section) {
  std::vector<std::string> names;
  for (const Field& field : fields) {
    if (field.section == section) names.push_back(field.name);
  }
  if (names.empty()) return suggest_section(section);
  return fmt::format("the settings of {} are {}", section, fmt::join(names, ", "));
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const auto& [name, meaning] : setting_sections()) names.push_back(name);
  return names;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1);
  std::vector<int> above(b.size() + 1);
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string suggest_key(const std::vector<Field>& fields, std::string_view key) {
  const size_t dot = key.find('.');
  if (dot == std::string_view::npos) {
    // Only the name was given, or only a section.
    const auto named = std::ranges::find(fields, key, &Field::name);
    if (named != fields.end()) return fmt::format("did you mean {}?", named->key());
    return settings_of(fields, key);
  }
  const std::string_view section = key.substr(0, dot);
  const std::string_view name = key.substr(dot + 1);
  const Field* best = nullptr;
  int best_distance = 0;
  for (const Field& field : fields) {
    const int name_distance = edit_distance(field.name, name);
    const int section_distance = edit_distance(field.section, section);
    // A correct name may be in any section, a misspelled one only in its own.
    if (name_distance > 0 && !(near(name_distance, name) && near(section_distance, section))) {
      continue;
    }
    const int distance = name_distance + section_distance;
    if (best == nullptr || distance < best_distance) {
      best = &field;
      best_distance = distance;
    }
  }
  if (best != nullptr) return fmt::format("did you mean {}?", best->key());
  return settings_of(fields, section);
}

std::string suggest_section(std::string_view section) {
  const std::vector<std::string> names = section_names();
  const auto distance = [&](const std::string& name) { return edit_distance(name, section); };
  const std::string& best = *std::ranges::min_element(names, {}, distance);
  if (near(distance(best), section)) return fmt::format("did you mean {}?", best);
  return fmt::format("the sections are {}", fmt::join(names, ", "));
}

}  // namespace saddle::config
