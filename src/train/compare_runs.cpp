#include "train/compare_runs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "config/fields.h"
#include "config/recipe.h"
#include "train/run_record.h"

namespace saddle::train {
namespace {

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

Json median_rate(const RunRecord& run) {
  std::vector<double> rates;
  for (const Json& line : run.updates) {
    const Json rate = json_at(line, {"tokens_per_second"});
    if (rate.is_number()) rates.push_back(rate);
  }
  if (rates.empty()) return nullptr;
  std::sort(rates.begin(), rates.end());
  const size_t half = rates.size() / 2;
  return rates.size() % 2 == 1 ? rates[half] : (rates[half - 1] + rates[half]) / 2;
}

Json evaluation_rate(const RunRecord& run) {
  double targets = 0, seconds = 0;
  std::vector<Json> lines = run.evaluations;
  lines.push_back(run.validation);
  for (const Json& line : lines) {
    if (!json_at(line, {"targets"}).is_number() || !json_at(line, {"seconds"}).is_number())
      continue;
    targets += line["targets"].get<double>();
    seconds += line["seconds"].get<double>();
  }
  return seconds > 0 ? json_number(targets / seconds) : Json(nullptr);
}

Json best_loss(const RunRecord& run) {
  Json best = nullptr;
  for (const Json& line : run.evaluations) {
    const Json loss = json_at(line, {"loss"});
    if (loss.is_number() && (best.is_null() || loss < best)) best = loss;
  }
  return best;
}

// The logged losses by step. The last loss counts if a step was logged twice (after a resume).
std::map<int64_t, double> losses_of(const RunRecord& run) {
  std::map<int64_t, double> losses;
  for (const Json& line : run.updates) {
    if (json_at(line, {"step"}).is_number_integer() && json_at(line, {"loss"}).is_number()) {
      losses[line["step"].get<int64_t>()] = line["loss"];
    }
  }
  return losses;
}

// For the updates that both runs logged: the difference of their losses in the first one, where
// only rounding can differ between runs of the same work, and the largest difference.
Json train_curve(const RunRecord& a, const RunRecord& b) {
  const std::map<int64_t, double> losses = losses_of(a);
  int64_t common = 0;
  double largest = 0;
  Json first = {{"step", nullptr}, {"difference", nullptr}};
  for (const auto& [step, loss] : losses_of(b)) {
    const auto other = losses.find(step);
    if (other == losses.end()) continue;
    const double gap = loss - other->second;
    if (++common == 1) first = {{"step", step}, {"difference", json_number(gap)}};
    largest = std::max(largest, std::abs(gap));
  }
  return {{"updates", common},
          {"first", first},
          {"largest_difference", common > 0 ? json_number(largest) : Json(nullptr)}};
}

Json differing_settings(const RunRecord& a, const RunRecord& b, config::Role role) {
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

Json about(const RunRecord& run) {
  return {{"directory", run.directory.string()},
          {"finished", !run.result.is_null()},
          {"step", steps_done(run)},
          {"tokens", tokens_done(run)}};
}

}  // namespace

Json compare_runs(const Path& path_a, const Path& path_b) {
  const RunRecord a = read_run(path_a), b = read_run(path_b);
  const Json numbers = differing_settings(a, b, config::Role::kRecipe);
  Json same_data = nullptr;
  if (a.data_identity && b.data_identity) same_data = *a.data_identity == *b.data_identity;
  Json same_work = same_data;
  if (!numbers.empty()) same_work = false;

  const auto machine = [](const RunRecord& run) {
    Json entries = json_at(run.environment, {"machine"});
    if (entries.is_object()) entries["threads"] = json_at(run.environment, {"threads"});
    return entries;
  };
  Json seconds = Json::object();
  for (const char* part : {"startup", "first_update", "training", "evaluation", "checkpoints"}) {
    seconds[part] =
        ratio(json_at(a.result, {"seconds", part}), json_at(b.result, {"seconds", part}));
  }
  return {
      {"runs", {{"a", about(a)}, {"b", about(b)}}},
      {"same_work", same_work},
      {"seed", {{"a", a.settings.runtime.seed}, {"b", b.settings.runtime.seed}}},
      {"differences",
       {{"numbers", numbers},
        {"execution", differing_settings(a, b, config::Role::kExecution)},
        {"data",
         {{"a", identity(a.data_identity)}, {"b", identity(b.data_identity)}, {"same", same_data}}},
        {"source",
         differing_entries(json_at(a.environment, {"build"}), json_at(b.environment, {"build"}))},
        {"libraries", differing_entries(json_at(a.environment, {"libraries"}),
                                        json_at(b.environment, {"libraries"}))},
        {"machine", differing_entries(machine(a), machine(b))}}},
      {"throughput",
       {{"tokens_per_second_median", ratio(median_rate(a), median_rate(b))},
        {"tokens_per_second", ratio(training_rate(a), training_rate(b))},
        {"elapsed_tokens_per_second", ratio(elapsed_rate(a), elapsed_rate(b))},
        {"evaluation_tokens_per_second", ratio(evaluation_rate(a), evaluation_rate(b))}}},
      {"losses",
       {{"train", difference(last_value(a.updates, "loss"), last_value(b.updates, "loss"))},
        {"subset",
         difference(last_value(a.evaluations, "loss"), last_value(b.evaluations, "loss"))},
        {"best", difference(best_loss(a), best_loss(b))},
        {"validation",
         difference(json_at(a.validation, {"loss"}), json_at(b.validation, {"loss"}))},
        {"train_curve", train_curve(a, b)}}},
      {"seconds", seconds},
      {"peak_memory_bytes",
       ratio(json_at(a.result, {"peak_memory_bytes"}), json_at(b.result, {"peak_memory_bytes"}))}};
}

}  // namespace saddle::train
