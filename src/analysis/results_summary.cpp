#include "analysis/results_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/number_text.h"
#include "base/csv.h"

namespace saddle::analysis {
namespace {

std::string joined_names(const Json& content) {
  return fmt::format(
      "{}", fmt::join(content["checkpoint"]["names"].get<std::vector<std::string>>(), " "));
}

Json samples(const Json& content, const char* kind) {
  return content.value(kind, Json::array()).size();
}

Json top_eigenvalues(const Json& content) {
  return content.value("spectrum", Json::object()).value("top_eigenvalues", Json::array());
}

Json largest_eigenvalue(const Json& content) {
  const Json top = top_eigenvalues(content);
  return top.empty() ? Json() : top[0].value("value", Json());
}

std::vector<std::pair<const char*, Json>> columns(const Json& content) {
  const Json& checkpoint = content["checkpoint"];
  const Json& epoch = content["epoch"];
  const Json& statistics = content["statistics"];
  const auto at = [](const Json& object, const char* key) { return object.value(key, Json()); };
  return {{"checkpoint", joined_names(content)},
          {"epoch", at(checkpoint, "epoch")},
          {"step", at(checkpoint, "step")},
          {"tokens", at(checkpoint, "tokens")},
          {"case", content["case"]},
          {"blocks", at(epoch, "blocks")},
          {"targets", at(epoch, "targets")},
          {"loss", at(epoch, "loss")},
          {"gradient_norm", at(epoch, "gradient_norm")},
          {"mean_gradient_norm", at(statistics, "mean_gradient_norm")},
          {"mean_noise_norm", at(statistics, "mean_noise_norm")},
          {"noise_samples", samples(content, "noise")},
          {"noise_alignment", at(statistics, "noise_alignment")},
          {"normalized_alignment", at(statistics, "normalized_alignment")},
          {"random_samples", samples(content, "random")},
          {"random_alignment", at(statistics, "random_alignment")},
          {"parameters", at(content, "parameters")},
          {"largest_eigenvalue", largest_eigenvalue(content)}};
}

// A case without values, used for the names of the columns.
Json no_case() {
  return {{"checkpoint", {{"names", Json::array()}}},
          {"case", nullptr},
          {"epoch", Json::object()},
          {"statistics", Json::object()}};
}

std::string eigenvalues_text(const Json& cases, size_t width) {
  std::string text;
  for (const Json& content : cases) {
    std::vector<std::string> values;
    for (const Json& value : top_eigenvalues(content)) {
      values.push_back(fmt::format("{} ± {}", number_text(value.value("value", Json()), "{:.5g}"),
                                   number_text(value.value("residual", Json()), "{:.1g}")));
    }
    if (values.empty()) continue;
    text += fmt::format("{:<{}}  {:<6}  {}\n", joined_names(content), width,
                        content["case"].get<std::string>(), fmt::join(values, ", "));
  }
  if (text.empty()) return text;
  return "largest eigenvalues, ± the residual (an eigenvalue is that near)\n" + text;
}

}  // namespace

std::string summary_csv(const Json& cases) {
  std::vector<std::string> line;
  for (const auto& [name, value] : columns(no_case())) line.emplace_back(name);
  std::string text = fmt::format("{}\n", fmt::join(line, ","));
  for (const Json& content : cases) {
    line.clear();
    for (const auto& [name, value] : columns(content)) line.push_back(csv_field(value));
    text += fmt::format("{}\n", fmt::join(line, ","));
  }
  return text;
}

std::string summary_text(const Json& cases) {
  size_t width = std::string("checkpoint").size();
  for (const Json& content : cases) width = std::max(width, joined_names(content).size());
  constexpr const char* kRow =
      "{:<{}}  {:<6}  {:>13}  {:>8}  {:>10}  {:>10}  {:>11}  {:>11}  {:>11}\n";
  std::string text = fmt::format(fmt::runtime(kRow), "checkpoint", width, "case", "tokens", "loss",
                                 "|gradient|", "mean |v|", "noise", "normalized", "random");
  for (const Json& content : cases) {
    const Json& statistics = content["statistics"];
    text += fmt::format(fmt::runtime(kRow), joined_names(content), width,
                        content["case"].get<std::string>(),
                        number_text(content["checkpoint"]["tokens"], "{:.0f}"),
                        number_text(content["epoch"].value("loss", Json()), "{:.4f}"),
                        number_text(content["epoch"].value("gradient_norm", Json()), "{:.4g}"),
                        number_text(statistics.value("mean_noise_norm", Json()), "{:.4g}"),
                        number_text(statistics.value("noise_alignment", Json()), "{:.4e}"),
                        number_text(statistics.value("normalized_alignment", Json()), "{:.4e}"),
                        number_text(statistics.value("random_alignment", Json()), "{:.4e}"));
  }
  return text + eigenvalues_text(cases, width);
}

}  // namespace saddle::analysis
