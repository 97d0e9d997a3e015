#include "train/run_state.h"

#include <limits>

#include "base/error.h"

namespace saddle::train {
namespace {

double number(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

EvaluationRecord record_from_json(const Json& json) {
  EvaluationRecord record;
  record.epoch = json_integer(json.at("epoch"));
  record.step = json_integer(json.at("step"));
  record.tokens = json_integer(json.at("tokens"));
  record.result.loss = number(json.at("loss"));
  record.result.perplexity = number(json.at("perplexity"));
  record.result.targets = json_integer(json.at("targets"));
  record.result.seconds = number(json.at("seconds"));
  record.result.validation_complete = json.at("validation_complete").get<bool>();
  return record;
}

RunSeconds seconds_from_json(const Json& json) {
  return {.startup = number(json.at("startup")),
          .training = number(json.at("training")),
          .evaluation = number(json.at("evaluation")),
          .checkpoints = number(json.at("checkpoints")),
          .first_update = number(json.at("first_update"))};
}

Json optional_record(const std::optional<EvaluationRecord>& record) {
  return record ? to_json(*record) : Json(nullptr);
}

}  // namespace

Json to_json(const EvaluationResult& result) {
  return {{"loss", json_number(result.loss)},
          {"perplexity", json_number(result.perplexity)},
          {"targets", result.targets},
          {"seconds", json_number(result.seconds)},
          {"validation_complete", result.validation_complete}};
}

Json to_json(const EvaluationRecord& record) {
  Json json = {{"epoch", record.epoch}, {"step", record.step}, {"tokens", record.tokens}};
  json.update(to_json(record.result));
  return json;
}

Json to_json(const RunSeconds& seconds) {
  return {{"startup", json_number(seconds.startup)},
          {"training", json_number(seconds.training)},
          {"evaluation", json_number(seconds.evaluation)},
          {"checkpoints", json_number(seconds.checkpoints)},
          {"first_update", json_number(seconds.first_update)}};
}

Json to_json(const RunState& state) {
  return {{"step", state.step},
          {"position", state.position},
          {"evaluated_epochs", state.evaluated_epochs},
          {"train_loss", state.train_loss ? json_number(*state.train_loss) : Json(nullptr)},
          {"last", optional_record(state.last_evaluation)},
          {"best", optional_record(state.best)},
          {"seconds", to_json(state.seconds)}};
}

RunState run_state_from_json(const Json& json, std::string_view where) {
  try {
    RunState state;
    state.step = json_integer(json.at("step"));
    state.position = json_integer(json.at("position"));
    state.evaluated_epochs = json_integer(json.at("evaluated_epochs"));
    if (!json.at("train_loss").is_null()) state.train_loss = json.at("train_loss").get<double>();
    if (!json.at("last").is_null()) state.last_evaluation = record_from_json(json.at("last"));
    if (!json.at("best").is_null()) state.best = record_from_json(json.at("best"));
    state.seconds = seconds_from_json(json.at("seconds"));
    return state;
  } catch (const Json::exception& error) {
    fail(ErrorKind::kData, "{}: the counters of the run are damaged: {}", where, error.what());
  }
}

}  // namespace saddle::train
