#include "config/load.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/error.h"
#include "config/fields.h"
#include "config/suggest.h"

namespace saddle::config {
namespace {

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  fail(ErrorKind::kConfig, format, std::forward<Args>(args)...);
}

// Nested lists are not followed: a list may contain an alias of itself.
Value to_value(const YAML::Node& node, bool inside_list = false) {
  if (node.IsMap()) return {.kind = Value::Kind::kOther, .text = "a mapping"};
  if (node.IsSequence()) {
    if (inside_list) return {.kind = Value::Kind::kOther, .text = "a list"};
    Value list{.kind = Value::Kind::kList};
    for (const YAML::Node& item : node) list.items.push_back(to_value(item, true));
    return list;
  }
  if (!node.IsScalar()) return {};
  if (node.Tag() == "!") return {.kind = Value::Kind::kQuoted, .text = node.Scalar()};
  if (node.Tag() == "?" || node.Tag().empty()) {
    return {.kind = Value::Kind::kPlain, .text = node.Scalar()};
  }
  return {.kind = Value::Kind::kOther, .text = "a value with the tag " + node.Tag()};
}

// Ignores what the parser finds.
class NoHandler : public YAML::EventHandler {
  using Mark = YAML::Mark;
  using Anchor = YAML::anchor_t;
  using Style = YAML::EmitterStyle::value;

 public:
  void OnDocumentStart(const Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const Mark&, Anchor) override {}
  void OnAlias(const Mark&, Anchor) override {}
  void OnScalar(const Mark&, const std::string&, Anchor, const std::string&) override {}
  void OnSequenceStart(const Mark&, const std::string&, Anchor, Style) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const Mark&, const std::string&, Anchor, Style) override {}
  void OnMapEnd() override {}
};

// Whether there is more than one document. It reads no further than the second: yaml-cpp 0.7 finds
// endless empty documents where a text begins with a comma, so YAML::LoadAll never returns.
bool several_documents(const std::string& text) {
  std::istringstream input(text);
  YAML::Parser parser(input);
  NoHandler handler;
  return parser.HandleNextDocument(handler) && parser.HandleNextDocument(handler);
}

// The only document of the text, or null if there is none. `lines`: errors name where:line.
YAML::Node parse_yaml(const std::string& text, std::string_view where, bool lines) {
  bool several = false;
  YAML::Node document;
  try {
    several = several_documents(text);
    document = YAML::Load(text);
  } catch (const YAML::Exception& error) {
    const std::string line = lines ? fmt::format(":{}", error.mark.line + 1) : "";
    refuse("{}{}: not valid YAML: {}", where, line, error.msg);
  }
  if (several) refuse("{}: contains several YAML documents, but must contain one", where);
  return document;
}

// The pairs of a mapping, each key once.
class Mapping {
 public:
  struct Pair {
    std::string key;
    std::string place;  // file:line
    YAML::Node value;
  };

  // `prefix` comes before the keys in messages.
  Mapping(const YAML::Node& node, std::string_view where, const std::string& prefix) {
    std::set<std::string> seen;
    for (const auto& pair : node) {
      const std::string place = fmt::format("{}:{}", where, pair.first.Mark().line + 1);
      if (!pair.first.IsScalar()) {
        refuse("{}: a key must be a name, but is {}", place, found_text(to_value(pair.first)));
      }
      const std::string& key = pair.first.Scalar();
      if (!seen.insert(key).second) {
        refuse("{}: {}{} is given a second time in this file", place, prefix, key);
      }
      pairs_.push_back({key, place, pair.second});
    }
  }

  const std::vector<Pair>& pairs() const { return pairs_; }

 private:
  std::vector<Pair> pairs_;
};

void set_field(const Field& field, const Value& value, std::string_view place, Settings& settings) {
  if (!field.read(value, settings)) {
    refuse("{}: {} is {}, but must be {}", place, field.key(), found_text(value), field.allowed);
  }
}

const Field& find_field(const std::vector<Field>& fields, const std::string& key,
                        std::string_view place) {
  const auto found = std::ranges::find(fields, key, &Field::key);
  if (found == fields.end()) {
    refuse("{}: unknown setting {}; {}", place, key, suggest_key(fields, key));
  }
  return *found;
}

// The settings of a group inside a section; none if `key` is not a group.
std::vector<Field> fields_of_group(const std::vector<Field>& fields, const std::string& key) {
  std::vector<Field> group;
  for (const Field& field : fields) {
    if (field.key().starts_with(key + ".")) group.push_back(field);
  }
  return group;
}

// Sets the keys that begin with `prefix`, a section or a group inside one.
void apply_mapping(const std::vector<Field>& fields, const std::string& prefix,
                   const Mapping& mapping, std::string_view where, Settings& settings) {
  for (const Mapping::Pair& pair : mapping.pairs()) {
    const std::string key = prefix + "." + pair.key;
    const std::vector<Field> group = fields_of_group(fields, key);
    if (group.empty()) {
      set_field(find_field(fields, key, pair.place), to_value(pair.value), pair.place, settings);
    } else if (pair.value.IsNull()) {  // null sets every setting of the group to null
      for (const Field& field : group) set_field(field, Value{}, pair.place, settings);
    } else if (pair.value.IsMap() && pair.value.size() > 0) {
      apply_mapping(fields, key, Mapping(pair.value, where, key + "."), where, settings);
    } else {
      refuse("{}: {} must be null or a mapping of settings, but is {}", pair.place, key,
             pair.value.IsMap() ? "an empty one" : found_text(to_value(pair.value)));
    }
  }
}

}  // namespace

void apply_yaml(std::string_view text, std::string_view where, Settings& settings) {
  const YAML::Node root = parse_yaml(std::string(text), where, true);
  if (root.IsNull()) return;
  if (!root.IsMap()) {
    refuse("{}: must be a mapping of sections (model, training, ...), but is {}", where,
           found_text(to_value(root)));
  }
  const std::vector<Field> fields = setting_fields();
  const Mapping sections(root, where, "section ");
  for (const Mapping::Pair& pair : sections.pairs()) {
    if (std::ranges::find(fields, pair.key, &Field::section) == fields.end()) {
      refuse("{}: unknown section {}; {}", pair.place, pair.key, suggest_section(pair.key));
    }
    if (pair.value.IsNull()) continue;  // all its lines are comments
    if (!pair.value.IsMap()) {
      refuse("{}: section {} must be a mapping of settings, but is {}", pair.place, pair.key,
             found_text(to_value(pair.value)));
    }
    apply_mapping(fields, pair.key, Mapping(pair.value, where, pair.key + "."), where, settings);
  }
}

void apply_override(std::string_view assignment, Settings& settings) {
  const std::string place = fmt::format("--set {}", assignment);
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    fail(ErrorKind::kUsage, "{}: must have the form dotted.key=value", place);
  }
  const std::string key(assignment.substr(0, equals));
  const std::string text(assignment.substr(equals + 1));
  const std::vector<Field> fields = setting_fields();
  if (const std::vector<Field> group = fields_of_group(fields, key);
      !group.empty() && key.find('.') != std::string::npos) {
    const YAML::Node node = parse_yaml(text, place, false);
    if (!node.IsNull()) {
      refuse("{}: {} is {}, but must be null; set its settings one by one, such as {}", place, key,
             found_text(to_value(node)), group.front().key());
    }
    for (const Field& field : group) set_field(field, Value{}, place, settings);
    return;
  }
  const Field& field = find_field(fields, key, place);
  if (field.path_list && text.starts_with('[') && text.ends_with(']')) {
    set_field(field, to_value(parse_yaml(text, place, false)), place, settings);
  } else if (field.text) {
    const bool null = text.empty() || text == "null";
    set_field(field, null ? Value{} : Value{.kind = Value::Kind::kPlain, .text = text}, place,
              settings);
  } else {
    set_field(field, to_value(parse_yaml(text, place, false)), place, settings);
  }
}

Settings load_settings(const std::vector<Path>& configs,
                       const std::vector<std::string>& overrides) {
  Settings settings;
  for (const Path& path : configs) apply_yaml(read_file(path), path.string(), settings);
  for (const std::string& assignment : overrides) apply_override(assignment, settings);
  check_settings(settings);
  return settings;
}

}  // namespace saddle::config
