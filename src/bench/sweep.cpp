#include "bench/sweep.h"

#include <climits>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "config/load.h"
#include "config/recipe.h"

namespace saddle::bench {
namespace {

// ".NAME.log.tmp-4194304-0" is the longest file name that contains the name of a run;
// "NAME.unfinished-2" is shorter.
constexpr size_t kMaxNameBytes =
    NAME_MAX - std::string_view(".").size() - std::string_view(".log.tmp-4194304-0").size();
constexpr std::string_view kOutputDir = "runtime.output_dir";

// Short names of keys in the name of a run, if their own last word is long.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kShortNames = {{
    {"optimizer.weight_decay", "wd"},
    {"optimizer.grad_clip", "clip"},
    {"optimizer.warmup_fraction", "warmup"},
    {"optimizer.min_lr_ratio", "minlr"},
    {"training.batch_tokens", "batch"},
    {"training.micro_batch_size", "mb"},
    {"training.max_tokens", "tokens"},
    {"training.tokens_per_parameter", "tpp"},
    {"decentralized.num_models", "n"},
    {"decentralized.adaptive_consensus.start_frac", "start"},
    {"model.context_length", "context"},
}};

std::string short_name(std::string_view key) {
  for (const auto& [full, brief] : kShortNames) {
    if (full == key) return std::string(brief);
  }
  return std::string(key.substr(key.find_last_of('.') + 1));
}

std::string for_file_name(std::string text) {
  for (char& c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (!plain && std::string_view("._+-").find(c) == std::string_view::npos) c = '_';
  }
  return text;
}

void check_axes(const std::vector<GridAxis>& axes) {
  if (axes.empty()) fail(ErrorKind::kUsage, "a sweep needs at least one --grid KEY=VALUE,VALUE");
  std::set<std::string> keys;
  for (const GridAxis& axis : axes) {
    if (axis.key == kOutputDir) {
      fail(ErrorKind::kUsage, "--grid {}: each run gets its own directory in --output", kOutputDir);
    }
    if (!keys.insert(axis.key).second) {
      fail(ErrorKind::kUsage, "--grid has {} twice", axis.key);
    }
  }
}

// Returns every combination of values; the last axis changes fastest.
std::vector<std::vector<std::string>> combinations(const std::vector<GridAxis>& axes) {
  std::vector<std::vector<std::string>> all = {{}};
  for (const GridAxis& axis : axes) {
    std::vector<std::vector<std::string>> longer;
    for (const auto& values : all) {
      for (const std::string& value : axis.values) {
        longer.push_back(values);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::vector<std::string> overrides_of(const std::vector<GridAxis>& axes, const SweepRun& run) {
  std::vector<std::string> overrides;
  for (size_t i = 0; i < axes.size(); ++i) {
    overrides.push_back(fmt::format("{}={}", axes[i].key, run.values[i]));
  }
  return overrides;
}

// Refuses runs with the same name or the same settings.
void check_different(const SweepRun& run, const config::Settings& settings,
                     const std::vector<std::pair<std::string, config::Settings>>& before) {
  for (const auto& [name, other] : before) {
    if (name == run.name) {
      fail(ErrorKind::kUsage, "two runs of the grid would have the name '{}'", name);
    }
    if (other == settings) {
      fail(ErrorKind::kUsage, "the runs '{}' and '{}' of the grid are the same training", name,
           run.name);
    }
  }
}

// Refuses names that are too long for the system: their runs would fail after others had trained.
void check_length(const std::string& name) {
  if (name.size() <= kMaxNameBytes) return;
  fail(ErrorKind::kUsage,
       "a run of the grid would have the name '{}', of {} bytes, but the name of a directory has "
       "at most {}, which leaves {}: choose a shorter name of the first --config, fewer or shorter "
       "values",
       name, name.size(), NAME_MAX, kMaxNameBytes);
}

Json settings_json(const SweepPlan& plan, const SweepRun& run) {
  Json settings = Json::object();
  for (size_t i = 0; i < plan.axes.size(); ++i) settings[plan.axes[i].key] = run.values[i];
  return settings;
}

// Refuses names that differ from the recorded ones: another order of the axes gives the same runs
// other names, so all of them would be trained again.
void check_names(const Json& there, const SweepPlan& plan) {
  for (size_t i = 0; i < plan.runs.size() && i < there.size(); ++i) {
    const std::string name = there[i].value("name", "");
    if (name == plan.runs[i].name) continue;
    fail(ErrorKind::kConfig,
         "'{}' contains this sweep with its --grid in another order: run {} is '{}' there and '{}' "
         "now; use that order, or choose a new --output",
         plan.directory.string(), i + 1, name, plan.runs[i].name);
  }
}

// Errors: kConfig for the record of another sweep; kData for a damaged one.
void check_record(const Path& path, const SweepPlan& plan) try {
  const Json record = read_json(path);
  const Json there = record.at("identity");
  std::string list;
  for (const std::string& key : config::differing_fields(there, plan.identity)) {
    list += fmt::format("{}{} (there {}, now {})", list.empty() ? "" : ", ", key,
                        there.value(key, Json()).dump(), plan.identity.value(key, Json()).dump());
  }
  if (!list.empty()) {
    fail(ErrorKind::kConfig, "'{}' contains another sweep: {}; choose a new --output",
         plan.directory.string(), list);
  }
  check_names(record.value("runs", Json::array()), plan);
} catch (const Json::exception& error) {
  fail(ErrorKind::kData, "{}: the record of the sweep is damaged: {}", path.string(), error.what());
}

}  // namespace

GridAxis parse_axis(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    fail(ErrorKind::kUsage, "--grid {}: KEY=VALUE,VALUE was expected", text);
  }
  GridAxis axis{.key = std::string(text.substr(0, equals)), .values = {""}};
  int depth = 0;
  for (const char c : text.substr(equals + 1)) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      axis.values.emplace_back();
    } else {
      axis.values.back() += c;
    }
  }
  for (const std::string& value : axis.values) {
    if (value.empty()) fail(ErrorKind::kUsage, "--grid {}: one of the values is empty", text);
  }
  return axis;
}

SweepPlan plan_sweep(const std::vector<std::string>& configs,
                     const std::vector<std::string>& overrides, const std::vector<GridAxis>& axes,
                     const Path& directory) {
  check_axes(axes);
  SweepPlan plan;
  plan.axes = axes;
  plan.directory = directory;
  for (const std::string& config : configs) {
    plan.settings_words.insert(plan.settings_words.end(), {"--config", config});
  }
  for (const std::string& set : overrides) {
    plan.settings_words.insert(plan.settings_words.end(), {"--set", set});
  }
  const std::string stem = configs.empty() ? "sweep" : Path(configs.front()).stem().string();
  std::vector<std::pair<std::string, config::Settings>> loaded;
  for (const auto& values : combinations(axes)) {
    SweepRun run{.name = for_file_name(stem), .values = values, .directory = {}};
    for (size_t i = 0; i < axes.size(); ++i) {
      run.name += for_file_name(fmt::format("-{}{}", short_name(axes[i].key), values[i]));
    }
    run.directory = directory / run.name;
    std::vector<std::string> all = overrides;
    for (const std::string& set : overrides_of(axes, run)) all.push_back(set);
    const auto settings = config::load_settings({configs.begin(), configs.end()}, all);
    check_length(run.name);
    check_different(run, settings, loaded);
    loaded.emplace_back(run.name, settings);
    plan.runs.push_back(std::move(run));
  }
  plan.identity = config::recipe(loaded.front().second);
  plan.identity["config"] = stem;  // the beginning of the names
  for (const GridAxis& axis : axes) {
    plan.identity.erase(axis.key);
    plan.identity["grid." + axis.key] = axis.values;
  }
  return plan;
}

std::vector<std::string> train_words(const SweepPlan& plan, const SweepRun& run) {
  std::vector<std::string> words = {"train"};
  words.insert(words.end(), plan.settings_words.begin(), plan.settings_words.end());
  for (const std::string& set : overrides_of(plan.axes, run)) {
    words.insert(words.end(), {"--set", set});
  }
  words.insert(words.end(), {"--set", fmt::format("{}={}", kOutputDir, run.directory.string()),
                             "--resume", "auto"});
  return words;
}

RunProgress run_progress(const SweepRun& run) {
  if (std::filesystem::exists(file_status(run.directory / "result.json"))) {
    return RunProgress::kFinished;
  }
  const bool begun = std::filesystem::exists(file_status(run.directory / "resolved.yaml"));
  return begun ? RunProgress::kUnfinished : RunProgress::kWaiting;
}

void claim_sweep_directory(const SweepPlan& plan) {
  const Path path = plan.directory / "sweep.json";
  if (std::filesystem::exists(file_status(path))) {
    check_record(path, plan);
    return;
  }
  Json runs = Json::array();
  for (const SweepRun& run : plan.runs) {
    runs.push_back({{"name", run.name}, {"settings", settings_json(plan, run)}});
  }
  write_json(path, {{"identity", plan.identity}, {"runs", runs}});
}

Json sweep_row(const SweepPlan& plan, const SweepRun& run) {
  Json row = {{"name", run.name},
              {"directory", run.directory.string()},
              {"settings", settings_json(plan, run)}};
  switch (run_progress(run)) {
    case RunProgress::kWaiting:
      row["status"] = "waiting";
      return row;
    case RunProgress::kUnfinished:
      row["status"] = "unfinished";
      return row;
    case RunProgress::kFinished:
      break;
  }
  const Path path = run.directory / "result.json";
  const Json result = read_json_object(path);
  const auto at = [&](const char* key, const char* inner = nullptr) -> Json {
    const Json value = result.value(key, Json());
    if (inner == nullptr || !value.is_object()) return value;
    return value.value(inner, Json());
  };
  row["status"] = "finished";
  row["step"] = at("step");
  row["tokens"] = at("tokens");
  row["train_loss"] = at("train_loss");
  row["subset_loss"] = at("last", "loss");
  row["best_loss"] = at("best", "loss");
  row["validation_loss"] = at("validation", "loss");
  row["tokens_per_second"] = at("tokens_per_second");
  row["seconds"] = at("seconds");
  return row;
}

}  // namespace saddle::bench
