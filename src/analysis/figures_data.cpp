#include "analysis/figures_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "plot/figure_writer.h"
#include "train/metrics.h"

namespace saddle::analysis {
namespace {

using plot::gnuplot_number;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double number(const Json& object, const char* key) {
  const Json value = object.value(key, Json());
  return value.is_number() ? value.get<double>() : kNone;
}

FigurePoint point_of(const Json& content) {
  const Json& statistics = content["statistics"];
  return {.tokens = number(content["checkpoint"], "tokens"),
          .normalized_alignment = number(statistics, "normalized_alignment"),
          .noise_alignment = number(statistics, "noise_alignment"),
          .random_alignment = number(statistics, "random_alignment"),
          .gradient_norm = number(content["epoch"], "gradient_norm"),
          .mean_gradient_norm = number(statistics, "mean_gradient_norm"),
          .mean_noise_norm = number(statistics, "mean_noise_norm")};
}

std::string series_text(const char* name, const FigureSeries& series) {
  std::string block = fmt::format(
      "# {}: tokens normalized normalized_positive noise random gradient mean_gradient "
      "mean_noise\n",
      name);
  for (const FigurePoint& point : series.points) {
    const double normalized = point.normalized_alignment;
    block += fmt::format(
        "{} {} {} {} {} {} {} {}\n", gnuplot_number(point.tokens), gnuplot_number(normalized),
        gnuplot_number(normalized > 0 ? normalized : kNone), gnuplot_number(point.noise_alignment),
        gnuplot_number(point.random_alignment), gnuplot_number(point.gradient_norm),
        gnuplot_number(point.mean_gradient_norm), gnuplot_number(point.mean_noise_norm));
  }
  if (series.points.empty()) block += "NaN NaN NaN NaN NaN NaN NaN NaN\n";
  return block;
}

}  // namespace

FigureData figure_data(const Json& cases) {
  FigureData data;
  for (const Json& content : cases) {
    const FigurePoint point = point_of(content);
    if (std::isnan(point.tokens)) {
      ++data.without_tokens;
      continue;
    }
    FigureSeries& series = content["case"] == "seen" ? data.seen : data.unseen;
    series.points.push_back(point);
    if (point.normalized_alignment <= 0) ++series.not_positive;  // not of NaN
  }
  for (FigureSeries* series : {&data.seen, &data.unseen}) {
    std::ranges::stable_sort(series->points, {}, &FigurePoint::tokens);
  }
  data.spectrum = spectrum_figures(cases);
  return data;
}

std::vector<std::pair<double, double>> training_norms(const Path& metrics, int64_t most) {
  std::vector<std::pair<double, double>> norms;
  std::istringstream lines(read_file(metrics));
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || json.value("type", Json()) != train::kTrainLine) continue;
    const double tokens = number(json, "tokens"), norm = number(json, "grad_norm");
    if (std::isfinite(tokens) && std::isfinite(norm)) norms.emplace_back(tokens, norm);
  }
  const auto count = static_cast<int64_t>(norms.size());
  const int64_t stride = std::max<int64_t>((count + most - 1) / most, 1);
  std::vector<std::pair<double, double>> kept;
  for (int64_t i = 0; i < count; i += stride) kept.push_back(norms[static_cast<size_t>(i)]);
  return kept;
}

std::string figure_data_text(const FigureData& data) {
  std::string training = "# training: tokens norm\n";
  for (const auto& [tokens, norm] : data.training) {
    training += fmt::format("{} {}\n", gnuplot_number(tokens), gnuplot_number(norm));
  }
  if (data.training.empty()) training += "NaN NaN\n";
  const std::string text = series_text("seen", data.seen) + "\n\n" +
                           series_text("unseen", data.unseen) + "\n\n" + training;
  const SpectrumFigures& spectrum = data.spectrum;
  const bool more = spectrum.has_eigenvalues() || spectrum.has_density();
  return more ? text + spectrum_data_text(spectrum) : text;
}

}  // namespace saddle::analysis
