#include "train/run_record.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "config/load.h"
#include "model/safetensors.h"
#include "train/metrics.h"

namespace saddle::train {
namespace {

// The identity of the token cache, from the records of the run or from one of its weight files.
std::optional<std::string> data_identity(const RunRecord& run) {
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
      continue;  // a damaged or foreign file: another may contain it
    }
  }
  return std::nullopt;
}

void read_metrics(const Path& path, RunRecord& run) {
  if (!std::filesystem::exists(path)) return;  // stopped before its first line
  const std::string text = read_file(path);
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    Json line = Json::parse(std::string_view(text).substr(begin, end - begin), nullptr, false);
    number += 1;
    begin = end + 1;
    if (!line.is_object() || !line.contains("type")) {
      if (begin >= text.size()) return;
      fail(ErrorKind::kData, "{}:{}: expected a metrics record", path.string(), number);
    }
    const std::string_view type =
        line["type"].is_string() ? line["type"].get<std::string_view>() : std::string_view();
    if (type == kTrainLine) {
      run.updates.push_back(std::move(line));
    } else if (type == kEvaluationLine) {
      run.evaluations.push_back(std::move(line));
    } else if (type == kValidationLine) {
      run.validation = std::move(line);
    }
  }
}

Json first_known(const Json& a, const Json& b) {
  return a.is_null() ? b : a;
}

// From the logged updates: all their tokens over all their seconds.
Json logged_rate(const RunRecord& run) {
  double tokens = 0, seconds = 0, before = 0;
  for (const Json& line : run.updates) {
    const Json rate = json_at(line, {"tokens_per_second"});
    const Json reached = json_at(line, {"tokens"});
    if (!reached.is_number()) continue;
    const double piece = reached.get<double>() - before;
    before = reached;
    if (!rate.is_number()) continue;
    tokens += piece;
    seconds += piece / rate.get<double>();
  }
  return seconds > 0 ? json_number(tokens / seconds) : Json(nullptr);
}

}  // namespace

RunRecord read_run(const Path& directory) {
  RunRecord run;
  run.directory = directory;
  const Path settings = directory / "resolved.yaml";
  config::apply_yaml(read_file(settings), settings.string(), run.settings);
  if (std::filesystem::exists(directory / "environment.json")) {
    run.environment = read_json(directory / "environment.json");
  }
  read_metrics(directory / "metrics.jsonl", run);
  if (std::filesystem::exists(directory / "result.json")) {
    run.result = read_json(directory / "result.json");
  }
  run.data_identity = data_identity(run);
  return run;
}

Json json_at(const Json& json, const std::vector<const char*>& keys) {
  const Json* value = &json;
  for (const char* key : keys) {
    if (!value->is_object() || !value->contains(key)) return nullptr;
    value = &(*value)[key];
  }
  return *value;
}

Json last_value(const std::vector<Json>& lines, const char* key) {
  return lines.empty() ? Json(nullptr) : json_at(lines.back(), {key});
}

Json steps_done(const RunRecord& run) {
  return first_known(json_at(run.result, {"step"}), last_value(run.updates, "step"));
}

Json tokens_done(const RunRecord& run) {
  return first_known(json_at(run.result, {"tokens"}), last_value(run.updates, "tokens"));
}

Json training_rate(const RunRecord& run) {
  return first_known(json_at(run.result, {"tokens_per_second"}), logged_rate(run));
}

Json elapsed_rate(const RunRecord& run) {
  return first_known(json_at(run.result, {"elapsed_tokens_per_second"}),
                     last_value(run.updates, "elapsed_tokens_per_second"));
}

}  // namespace saddle::train
