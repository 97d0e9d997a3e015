#include "precision/compare_precision_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/number_text.h"

namespace saddle::precision {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Json relative(double x, double y) {
  return json_number(y == 0 ? kNone : (x - y) / y);
}

Json pair_json(std::optional<double> float32, std::optional<double> autocast) {
  const double a = float32.value_or(kNone), b = autocast.value_or(kNone);
  return {{"float32", json_number(a)},
          {"autocast", json_number(b)},
          {"relative_difference", relative(b, a)}};
}

Json statistics_json(const curvature::CaseResult& a, const curvature::CaseResult& b) {
  return {{"loss", pair_json(a.loss, b.loss)},
          {"gradient_norm", pair_json(a.gradient_norm, b.gradient_norm)},
          {"mean_gradient_norm", pair_json(a.mean_gradient_norm(), b.mean_gradient_norm())},
          {"mean_noise_norm", pair_json(a.mean_noise_norm(), b.mean_noise_norm())},
          {"noise_alignment", pair_json(a.noise_alignment(), b.noise_alignment())},
          {"normalized_alignment", pair_json(a.normalized_alignment(), b.normalized_alignment())},
          {"random_alignment", pair_json(a.random_alignment(), b.random_alignment())}};
}

// The float32 noise with the forms of the counterfactual.
curvature::CaseResult counterfactual_of(const PrecisionCase& result) {
  curvature::CaseResult mixed = result.float32;
  for (size_t k = 0; k < mixed.noise.size(); ++k) {
    mixed.noise[k].quadratic_form = result.counterfactual[k];
  }
  return mixed;
}

Json between_json(std::optional<double> value, std::optional<double> float32,
                  std::optional<double> autocast) {
  const double x = value.value_or(kNone);
  return {{"value", json_number(x)},
          {"from_float32", relative(x, float32.value_or(kNone))},
          {"from_autocast", relative(x, autocast.value_or(kNone))}};
}

Json vector_json(const VectorDifference& difference) {
  return {{"relative_error", json_number(difference.error)},
          {"cosine", json_number(difference.cosine)}};
}

// Mean, and largest or smallest, of the values that are numbers.
Json summary_json(const std::vector<VectorDifference>& differences,
                  double VectorDifference::*member, bool largest) {
  double sum = 0, worst = kNone;
  int64_t count = 0;
  for (const VectorDifference& difference : differences) {
    const double value = difference.*member;
    if (!std::isfinite(value)) continue;
    sum += value;
    if (count == 0 || (largest ? value > worst : value < worst)) worst = value;
    ++count;
  }
  return {{"mean", json_number(count == 0 ? kNone : sum / static_cast<double>(count))},
          {"worst", json_number(worst)}};
}

Json vectors_json(const std::vector<VectorDifference>& differences) {
  return {{"relative_error", summary_json(differences, &VectorDifference::error, true)},
          {"cosine", summary_json(differences, &VectorDifference::cosine, false)}};
}

int sign(double x) {
  return (x > 0 ? 1 : 0) - (x < 0 ? 1 : 0);
}

template <class Samples>
Json signs_json(const Samples& a, const Samples& b) {
  int64_t kept = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    if (sign(a[k].quadratic_form) == sign(b[k].quadratic_form)) ++kept;
  }
  return {{"kept", kept}, {"of", a.size()}};
}

Json sample_json(const curvature::NoiseResult& sample) {
  return {{"loss", json_number(sample.loss)},
          {"gradient_norm", json_number(sample.gradient_norm)},
          {"squared_norm", json_number(sample.squared_norm)},
          {"quadratic_form", json_number(sample.quadratic_form)}};
}

Json form_json(double form) {
  return {{"quadratic_form", json_number(form)}};
}

Json noise_json(const PrecisionCase& result) {
  Json samples = Json::array();
  for (size_t k = 0; k < result.float32.noise.size(); ++k) {
    const curvature::NoiseResult& sample = result.float32.noise[k];
    samples.push_back({{"batch", sample.batch},
                       {"worker", sample.worker},
                       {"targets", sample.targets},
                       {"gradient", vector_json(result.gradients[k])},
                       {"noise", vector_json(result.noise[k])},
                       {"float32", sample_json(sample)},
                       {"autocast", sample_json(result.autocast.noise[k])},
                       {"counterfactual", form_json(result.counterfactual[k])}});
  }
  return samples;
}

Json random_json(const PrecisionCase& result) {
  Json samples = Json::array();
  for (size_t k = 0; k < result.float32.random.size(); ++k) {
    samples.push_back({{"float32", form_json(result.float32.random[k].quadratic_form)},
                       {"autocast", form_json(result.autocast.random[k].quadratic_form)}});
  }
  return samples;
}

std::string percent(const Json& value) {
  return value.is_number() ? fmt::format("{:+.3f}%", 100 * value.get<double>()) : "-";
}

std::string vectors_text(const char* name, const Json& error, const Json& worst_error,
                         const Json& cosine, const Json& worst_cosine) {
  return fmt::format(
      "  {:<22}  {:>11}  {:>11}  {:>11}  {:>11}\n", name, analysis::number_text(error, "{:.3e}"),
      analysis::number_text(worst_error, "{:.3e}"), analysis::number_text(cosine, "{:.7f}"),
      analysis::number_text(worst_cosine, "{:.7f}"));
}

std::string comparison_text(const Json& comparison) {
  constexpr const char* kRow = "  {:<22}  {:>12}  {:>12}  {:>11}\n";
  std::string text =
      fmt::format("{}, {}: {} noise samples, {} random directions\n",
                  fmt::join(comparison["checkpoint"]["names"].get<std::vector<std::string>>(), " "),
                  comparison["case"].get<std::string>(), comparison["noise"].size(),
                  comparison["random"].size());
  text += fmt::format(fmt::runtime(kRow), "statistic", "float32", "bf16", "difference");
  for (const auto& [name, pair] : comparison["statistics"].items()) {
    text += fmt::format(fmt::runtime(kRow), name, analysis::number_text(pair["float32"], "{:.5e}"),
                        analysis::number_text(pair["autocast"], "{:.5e}"),
                        percent(pair["relative_difference"]));
  }
  text +=
      fmt::format(fmt::runtime(kRow), "bf16 H, float32 noise", "value", "of float32", "of bf16");
  for (const auto& [name, value] : comparison["counterfactual"].items()) {
    text += fmt::format(fmt::runtime(kRow), name, analysis::number_text(value["value"], "{:.5e}"),
                        percent(value["from_float32"]), percent(value["from_autocast"]));
  }
  text += fmt::format("  {:<22}  {:>11}  {:>11}  {:>11}  {:>11}\n", "vector", "error", "worst",
                      "cosine", "worst");
  const Json& vectors = comparison["vectors"];
  const Json& epoch = vectors["epoch_gradient"];
  text += vectors_text("gradient of the epoch", epoch["relative_error"], Json(), epoch["cosine"],
                       Json());
  for (const auto& [key, name] :
       {std::pair("batch_gradients", "gradients of batches"), std::pair("noise", "noise")}) {
    const Json& error = vectors[key]["relative_error"];
    const Json& cosine = vectors[key]["cosine"];
    text += vectors_text(name, error["mean"], error["worst"], cosine["mean"], cosine["worst"]);
  }
  const Json& signs = comparison["signs"];
  const auto kept = [&](const char* key) {
    return fmt::format("{} of {}", signs[key]["kept"].get<int64_t>(),
                       signs[key]["of"].get<int64_t>());
  };
  return text + fmt::format("  signs kept: noise {}, bf16 H with float32 noise {}, random {}\n",
                            kept("noise"), kept("counterfactual"), kept("random"));
}

}  // namespace

Json to_json(const PrecisionCase& result) {
  const curvature::CaseResult& a = result.float32;
  const curvature::CaseResult& b = result.autocast;
  const curvature::CaseResult mixed = counterfactual_of(result);
  return {{"epoch", {{"blocks", a.blocks}, {"targets", a.targets}}},
          {"parameters", a.parameters},
          {"statistics", statistics_json(a, b)},
          {"counterfactual",
           {{"noise_alignment",
             between_json(mixed.noise_alignment(), a.noise_alignment(), b.noise_alignment())},
            {"normalized_alignment",
             between_json(mixed.normalized_alignment(), a.normalized_alignment(),
                          b.normalized_alignment())}}},
          {"vectors",
           {{"epoch_gradient", vector_json(result.epoch_gradient)},
            {"batch_gradients", vectors_json(result.gradients)},
            {"noise", vectors_json(result.noise)}}},
          {"signs",
           {{"noise", signs_json(a.noise, b.noise)},
            {"counterfactual", signs_json(a.noise, mixed.noise)},
            {"random", signs_json(a.random, b.random)}}},
          {"noise", noise_json(result)},
          {"random", random_json(result)}};
}

std::string precision_text(const Json& comparisons) {
  std::string text;
  for (const Json& comparison : comparisons) text += comparison_text(comparison);
  return text;
}

}  // namespace saddle::precision
