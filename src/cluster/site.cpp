#include "cluster/site.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <sstream>

#include "base/error.h"

namespace saddle::cluster {
namespace {

struct TextKey {
  const char* name;
  std::string Site::*value;
};

constexpr std::array<TextKey, 11> kTexts = {{{"account", &Site::account},
                                             {"partition", &Site::partition},
                                             {"qos", &Site::qos},
                                             {"constraint", &Site::constraint},
                                             {"cpus", &Site::cpus},
                                             {"memory", &Site::memory},
                                             {"gpus", &Site::gpus},
                                             {"time", &Site::time},
                                             {"options", &Site::options},
                                             {"setup", &Site::setup},
                                             {"program", &Site::program}}};

struct CountKey {
  const char* name;
  int64_t Site::*value;
};

constexpr std::array<CountKey, 2> kCounts = {
    {{"signal_seconds", &Site::signal_seconds}, {"max_restarts", &Site::max_restarts}}};

int64_t count(const std::string& text, std::string_view where, const char* key) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 0) {
    fail(ErrorKind::kConfig, "{}: {} is '{}': a number of at least 0 was expected", where, key,
         text);
  }
  return value;
}

// The words of a text, as scripts/slurm.sh gets them from xargs: text in quotes, ' or ", stays
// together, and a backslash outside of quotes makes the next character literal. Nothing when a
// quote is not closed.
std::optional<std::vector<std::string>> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;  // of a word
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        words.back() += c;
      }
      continue;
    }
    if (c == ' ' || c == '\t' || c == '\n') {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (c == '"' || c == '\'') {
      quote = c;
    } else {
      if (c == '\\' && i + 1 < text.size()) ++i;
      words.back() += text[i];
    }
  }
  if (quote != '\0') return std::nullopt;
  return words;
}

// False for an unknown key.
bool set(Site& site, const std::string& key, const std::string& value, std::string_view where) {
  for (const TextKey& known : kTexts) {
    if (key == known.name) {
      if (known.value == &Site::options && !words_of(value)) {
        fail(ErrorKind::kConfig, "{}: options is {}: a quote is opened but not closed", where,
             value);
      }
      site.*known.value = value;
      return true;
    }
  }
  for (const CountKey& known : kCounts) {
    if (key == known.name) {
      if (!value.empty()) site.*known.value = count(value, where, known.name);
      return true;
    }
  }
  return false;
}

std::string known_keys() {
  std::string list;
  for (const TextKey& key : kTexts) list += fmt::format("{}, ", key.name);
  for (const CountKey& key : kCounts) list += fmt::format("{}, ", key.name);
  return list.substr(0, list.size() - 2);
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string::npos
             ? ""
             : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

// As scripts/slurm.sh reads it: a comment begins with " #", and one pair of surrounding quotes is
// dropped, but not for `options`, whose words have quotes of their own.
std::string plain_value(const std::string& key, const std::string& text) {
  std::string value = text;
  if (const size_t comment = value.find(" #"); comment != std::string::npos) {
    value = value.substr(0, comment);
  }
  value = trimmed(value);
  if (key != "options" && value.size() >= 2 && value.front() == value.back() &&
      (value.front() == '"' || value.front() == '\'')) {
    value = value.substr(1, value.size() - 2);
  }
  return value;
}

std::string variable_of(const char* key) {
  std::string name = "SADDLE_SLURM_";
  for (const char* c = key; *c != '\0'; ++c) {
    name += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
  }
  return name;
}

void apply_variables(Site& site, const Variables& variables) {
  const auto apply = [&](const char* key) {
    const std::string name = variable_of(key);
    if (const std::string value = variables(name.c_str()); !value.empty()) {
      set(site, key, value, name);
    }
  };
  for (const TextKey& key : kTexts) apply(key.name);
  for (const CountKey& key : kCounts) apply(key.name);
}

}  // namespace

Site parse_site(std::string_view text, std::string_view where, const Variables& variables) {
  Site site;
  std::istringstream lines{std::string(text)};
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string content = trimmed(line);
    if (content.empty() || content.front() == '#' || content == "---") continue;
    const std::string place = fmt::format("{}:{}", where, number);
    const size_t colon = line.find(':');
    const std::string key = line.substr(0, colon);
    if (colon == std::string::npos || key.find_first_of(" \t") != std::string::npos) {
      fail(ErrorKind::kConfig, "{}: 'key: value' was expected, found '{}'", place, content);
    }
    if (!set(site, key, plain_value(key, line.substr(colon + 1)), place)) {
      fail(ErrorKind::kConfig, "{}: '{}' is not one of {}", place, key, known_keys());
    }
  }
  apply_variables(site, variables);
  return site;
}

Site read_site(const Variables& variables) {
  if (const std::string named = variables("SADDLE_SLURM_SITE"); !named.empty()) {
    return parse_site(read_file(named), named, variables);
  }
  Path directory = variables("XDG_CONFIG_HOME");
  if (directory.empty()) directory = Path(variables("HOME")) / ".config";
  const Path file = directory / "saddle" / "slurm.yaml";
  if (!std::filesystem::exists(file_status(file))) return parse_site("", "", variables);
  return parse_site(read_file(file), file.string(), variables);
}

std::vector<std::string> site_options(const Site& site) {
  std::vector<std::string> words;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.push_back(option + value);
  };
  add("--account=", site.account);
  add("--partition=", site.partition);
  add("--qos=", site.qos);
  add("--constraint=", site.constraint);
  add("--cpus-per-task=", site.cpus);
  add("--mem=", site.memory);
  if (site.gpus != "0") add("--gres=gpu:", site.gpus);
  const std::vector<std::string> more = words_of(site.options).value_or(std::vector<std::string>());
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Site site_of_json(const Json& json, std::string_view where) {
  Site site;
  if (!json.is_object()) fail(ErrorKind::kConfig, "{}: the site is not an object", where);
  for (const auto& [key, value] : json.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (!set(site, key, text, where)) {
      fail(ErrorKind::kConfig, "{}: '{}' is not one of {}", where, key, known_keys());
    }
  }
  return site;
}

Json to_json(const Site& site) {
  Json json = Json::object();
  for (const TextKey& key : kTexts) {
    if (!(site.*key.value).empty()) json[key.name] = site.*key.value;
  }
  for (const CountKey& key : kCounts) json[key.name] = site.*key.value;
  return json;
}

}  // namespace saddle::cluster
