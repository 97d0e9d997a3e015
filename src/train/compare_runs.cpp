#include "train/compare_runs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "config/fields.h"
#include "config/load.h"
#include "config/recipe.h"
#include "model/safetensors.h"
#include "train/metrics.h"

namespace saddle::train {
namespace {

// A run as its directory tells it.
struct Run {
  Path directory;
  config::Settings settings;
  Json environment;
  std::vector<Json> updates, evaluations;  // lines of metrics.jsonl
  Json validation;                         // its line, or null
  Json result;                             // result.json, or null
  std::optional<std::string> data_identity;
};

// The identity of the token cache, from the records of the run or from one of its weight files.
std::optional<std::string> data_identity(const Run& run) {
  if (run.environment.contains("data_identity") && run.environment["data_identity"].is_string()) {
    return run.environment["data_identity"].get<std::string>();
  }
  for (const auto& entry : std::filesystem::directory_iterator(run.directory)) {
    if (entry.path().extension() != ".safetensors") continue;
    try {
      const model::SafetensorsReader file(entry.path());
      const auto note = file.metadata().find("saddle.weights");
      if (note == file.metadata().end()) continue;
      return parse_json(note->second, "metadata").at("recipe").at("data.identity");
    } catch (const std::exception&) {
      continue;  // a damaged file, or one from elsewhere: another may tell
    }
  }
  return std::nullopt;
}

void read_metrics(const Path& path, Run& run) {
  if (!std::filesystem::exists(path)) return;  // stopped before its first line
  std::istringstream text(read_file(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  for (size_t i = 0; i < lines.size(); ++i) {
    const Json line = Json::parse(lines[i], nullptr, false);
    if (!line.is_object() || !line.contains("type")) {
      if (i + 1 == lines.size()) continue;
      fail(ErrorKind::kData, "{}:{}: a metrics record was expected", path.string(), i + 1);
    }
    if (line["type"] == kTrainLine) run.updates.push_back(line);
    if (line["type"] == kEvaluationLine) run.evaluations.push_back(line);
    if (line["type"] == kValidationLine) run.validation = line;
  }
}

Run read_run(const Path& directory) {
  Run run;
  run.directory = directory;
  const Path settings = directory / "resolved.yaml";
  config::apply_yaml(read_file(settings), settings.string(), run.settings);
  run.environment = read_json(directory / "environment.json");
  read_metrics(directory / "metrics.jsonl", run);
  if (std::filesystem::exists(directory / "result.json")) {
    run.result = read_json(directory / "result.json");
  }
  run.data_identity = data_identity(run);
  return run;
}

// The value at a path of keys, or null.
Json at(const Json& json, const std::vector<const char*>& keys) {
  const Json* value = &json;
  for (const char* key : keys) {
    if (!value->is_object() || !value->contains(key)) return nullptr;
    value = &(*value)[key];
  }
  return *value;
}

Json last(const std::vector<Json>& lines, const char* key) {
  return lines.empty() ? Json(nullptr) : at(lines.back(), {key});
}

Json first_known(const Json& a, const Json& b) {
  return a.is_null() ? b : a;
}

Json ratio(const Json& a, const Json& b) {
  Json quotient = nullptr;
  if (a.is_number() && b.is_number()) quotient = json_number(b.get<double>() / a.get<double>());
  return {{"a", a}, {"b", b}, {"ratio", quotient}};
}

Json difference(const Json& a, const Json& b) {
  Json gap = nullptr;
  if (a.is_number() && b.is_number()) gap = json_number(b.get<double>() - a.get<double>());
  return {{"a", a}, {"b", b}, {"difference", gap}};
}

Json median_rate(const Run& run) {
  std::vector<double> rates;
  for (const Json& line : run.updates) {
    const Json rate = at(line, {"tokens_per_second"});
    if (rate.is_number()) rates.push_back(rate);
  }
  if (rates.empty()) return nullptr;
  std::sort(rates.begin(), rates.end());
  const size_t half = rates.size() / 2;
  return rates.size() % 2 == 1 ? rates[half] : (rates[half - 1] + rates[half]) / 2;
}

// From the logged updates: all their tokens over all their seconds.
Json logged_rate(const Run& run) {
  double tokens = 0, seconds = 0, before = 0;
  for (const Json& line : run.updates) {
    const Json rate = at(line, {"tokens_per_second"});
    const Json reached = at(line, {"tokens"});
    if (!reached.is_number()) continue;
    const double piece = reached.get<double>() - before;
    before = reached;
    if (!rate.is_number()) continue;
    tokens += piece;
    seconds += piece / rate.get<double>();
  }
  return seconds > 0 ? json_number(tokens / seconds) : Json(nullptr);
}

Json aggregate_rate(const Run& run) {
  return first_known(at(run.result, {"tokens_per_second"}), logged_rate(run));
}

Json elapsed_rate(const Run& run) {
  return first_known(at(run.result, {"elapsed_tokens_per_second"}),
                     last(run.updates, "elapsed_tokens_per_second"));
}

Json evaluation_rate(const Run& run) {
  double targets = 0, seconds = 0;
  std::vector<Json> lines = run.evaluations;
  lines.push_back(run.validation);
  for (const Json& line : lines) {
    if (!at(line, {"targets"}).is_number() || !at(line, {"seconds"}).is_number()) continue;
    targets += line["targets"].get<double>();
    seconds += line["seconds"].get<double>();
  }
  return seconds > 0 ? json_number(targets / seconds) : Json(nullptr);
}

Json best_loss(const Run& run) {
  Json best = nullptr;
  for (const Json& line : run.evaluations) {
    const Json loss = at(line, {"loss"});
    if (loss.is_number() && (best.is_null() || loss < best)) best = loss;
  }
  return best;
}

// The updates that both runs logged, and the largest difference of their losses.
Json train_curve(const Run& a, const Run& b) {
  std::map<int64_t, double> losses;
  for (const Json& line : a.updates) {
    if (at(line, {"step"}).is_number() && at(line, {"loss"}).is_number()) {
      losses[line["step"].get<int64_t>()] = line["loss"];
    }
  }
  int64_t common = 0;
  double largest = 0;
  for (const Json& line : b.updates) {
    if (!at(line, {"step"}).is_number() || !at(line, {"loss"}).is_number()) continue;
    const auto other = losses.find(line["step"].get<int64_t>());
    if (other == losses.end()) continue;
    ++common;
    largest = std::max(largest, std::abs(line["loss"].get<double>() - other->second));
  }
  return {{"updates", common}, {"largest_difference", common > 0 ? Json(largest) : Json(nullptr)}};
}

Json differing_settings(const Run& a, const Run& b, config::Role role) {
  Json list = Json::array();
  for (const config::Field& field : config::setting_fields()) {
    const Json left = field.write(a.settings), right = field.write(b.settings);
    if (field.role != role || left == right) continue;
    list.push_back({{"key", field.key()}, {"a", left}, {"b", right}});
  }
  return list;
}

Json differing_entries(const Json& a, const Json& b) {
  Json list = Json::array();
  const Json left = a.is_object() ? a : Json::object(), right = b.is_object() ? b : Json::object();
  for (const std::string& key : config::differing_fields(left, right)) {
    list.push_back({{"key", key}, {"a", left.value(key, Json())}, {"b", right.value(key, Json())}});
  }
  return list;
}

Json identity(const std::optional<std::string>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json about(const Run& run) {
  return {{"directory", run.directory.string()},
          {"finished", !run.result.is_null()},
          {"step", first_known(at(run.result, {"step"}), last(run.updates, "step"))},
          {"tokens", first_known(at(run.result, {"tokens"}), last(run.updates, "tokens"))}};
}

}  // namespace

Json compare_runs(const Path& path_a, const Path& path_b) {
  const Run a = read_run(path_a), b = read_run(path_b);
  const Json numbers = differing_settings(a, b, config::Role::kRecipe);
  Json same_data = nullptr;
  if (a.data_identity && b.data_identity) same_data = *a.data_identity == *b.data_identity;
  Json same_work = same_data;
  if (!numbers.empty()) same_work = false;

  const auto machine = [](const Run& run) {
    Json entries = at(run.environment, {"machine"});
    if (entries.is_object()) entries["threads"] = at(run.environment, {"threads"});
    return entries;
  };
  Json seconds = Json::object();
  for (const char* part : {"startup", "first_update", "training", "evaluation", "checkpoints"}) {
    seconds[part] = ratio(at(a.result, {"seconds", part}), at(b.result, {"seconds", part}));
  }
  return {
      {"runs", {{"a", about(a)}, {"b", about(b)}}},
      {"same_work", same_work},
      {"differences",
       {{"numbers", numbers},
        {"execution", differing_settings(a, b, config::Role::kExecution)},
        {"data",
         {{"a", identity(a.data_identity)}, {"b", identity(b.data_identity)}, {"same", same_data}}},
        {"source", differing_entries(at(a.environment, {"build"}), at(b.environment, {"build"}))},
        {"machine", differing_entries(machine(a), machine(b))}}},
      {"throughput",
       {{"tokens_per_second_median", ratio(median_rate(a), median_rate(b))},
        {"tokens_per_second", ratio(aggregate_rate(a), aggregate_rate(b))},
        {"elapsed_tokens_per_second", ratio(elapsed_rate(a), elapsed_rate(b))},
        {"evaluation_tokens_per_second", ratio(evaluation_rate(a), evaluation_rate(b))}}},
      {"losses",
       {{"train", difference(last(a.updates, "loss"), last(b.updates, "loss"))},
        {"subset", difference(last(a.evaluations, "loss"), last(b.evaluations, "loss"))},
        {"best", difference(best_loss(a), best_loss(b))},
        {"validation", difference(at(a.validation, {"loss"}), at(b.validation, {"loss"}))},
        {"train_curve", train_curve(a, b)}}},
      {"seconds", seconds},
      {"peak_memory_bytes",
       ratio(at(a.result, {"peak_memory_bytes"}), at(b.result, {"peak_memory_bytes"}))}};
}

}  // namespace saddle::train
