#include "curvature/case_json.h"

namespace saddle::curvature {
namespace {

Json number_or_null(const std::optional<double>& value) {
  return value ? json_number(*value) : Json(nullptr);
}

void add_form(const DirectionResult& result, Json& json) {
  json["squared_norm"] = json_number(result.squared_norm);
  json["quadratic_form"] = json_number(result.quadratic_form);
}

Json noise_json(const NoiseResult& sample) {
  Json json = {{"batch", sample.batch},
               {"worker", sample.worker},
               {"targets", sample.targets},
               {"loss", json_number(sample.loss)},
               {"gradient_norm", json_number(sample.gradient_norm)}};
  add_form(sample, json);
  return json;
}

Json random_json(const DirectionResult& sample) {
  Json json = Json::object();
  add_form(sample, json);
  return json;
}

Json named_json(const NamedResult& result) {
  Json json = {{"name", result.name}};
  add_form(result, json);
  json["rayleigh"] = json_number(result.quadratic_form / result.squared_norm);
  return json;
}

template <class Samples, class Fn>
Json list(const Samples& samples, Fn fn) {
  Json json = Json::array();
  for (const auto& sample : samples) json.push_back(fn(sample));
  return json;
}

}  // namespace

Json to_json(const CaseResult& result) {
  Json json = {{"epoch",
                {{"blocks", result.blocks},
                 {"targets", result.targets},
                 {"loss", json_number(result.loss)},
                 {"gradient_norm", json_number(result.gradient_norm)}}},
               {"parameters", result.parameters},
               {"statistics",
                {{"noise_alignment", number_or_null(result.noise_alignment())},
                 {"normalized_alignment", number_or_null(result.normalized_alignment())},
                 {"mean_noise_norm", number_or_null(result.mean_noise_norm())},
                 {"mean_gradient_norm", number_or_null(result.mean_gradient_norm())},
                 {"random_alignment", number_or_null(result.random_alignment())}}},
               {"noise", list(result.noise, noise_json)},
               {"random", list(result.random, random_json)},
               {"own", list(result.own, named_json)},
               {"consensus", list(result.consensus, named_json)}};
  if (result.spectrum) json["spectrum"] = to_json(*result.spectrum);
  return json;
}

}  // namespace saddle::curvature
