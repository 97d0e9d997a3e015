#include "analysis/figures_spectrum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "plot/figure_writer.h"

namespace saddle::analysis {
namespace {

using plot::gnuplot_number;

constexpr int kPlaces = 800;         // points of a density curve
constexpr double kWidths = 4;        // deviations that are drawn beyond the outer nodes
constexpr double kLightest = 1e-14;  // weights below are rounding

struct Node {
  double value = 0;
  double weight = 0;  // all of a case sum to 1
};

std::vector<Node> nodes_of(const Json& density) {
  std::vector<Node> nodes;
  for (const Json& start : density) {
    for (size_t i = 0; i < start.at("nodes").size(); ++i) {
      const Json& value = start.at("nodes")[i];
      const Json& weight = start.at("weights").at(i);
      if (!value.is_number() || !weight.is_number()) continue;
      nodes.push_back({value, weight.get<double>() / static_cast<double>(density.size())});
    }
  }
  return nodes;
}

// The density of the last checkpoint of a case; null if there is none.
const Json* last_with_density(const Json& cases, const char* kind) {
  const Json* last = nullptr;
  for (const Json& content : cases) {  // by tokens, ascending, unknown ones at the end
    if (content["case"] != kind || !content["checkpoint"]["tokens"].is_number()) continue;
    if (content.value("spectrum", Json::object()).contains("density")) last = &content;
  }
  return last;
}

double peak(double deviation) {
  return 1 / (deviation * std::sqrt(2 * M_PI));
}

double density_at(double place, const std::vector<Node>& nodes, double deviation) {
  double sum = 0;
  for (const Node& node : nodes) {
    const double distance = (place - node.value) / deviation;
    sum += node.weight * std::exp(-distance * distance / 2);
  }
  return sum * peak(deviation);
}

void add_densities(const Json& cases, SpectrumFigures& figures) {
  double first = std::numeric_limits<double>::infinity(), last = -first, lightest = 1;
  std::vector<Node> nodes[2];
  SpectralDensity* densities[2] = {&figures.seen_density, &figures.unseen_density};
  for (const int i : {0, 1}) {
    const Json* content = last_with_density(cases, i == 0 ? "seen" : "unseen");
    if (content == nullptr) continue;
    const Json& starts = content->at("spectrum").at("density");
    nodes[i] = nodes_of(starts);
    densities[i]->checkpoint = content->at("checkpoint")["names"][0];
    densities[i]->starts = static_cast<int64_t>(starts.size());
    for (const Node& node : nodes[i]) {
      first = std::min(first, node.value);
      last = std::max(last, node.value);
      if (node.weight > kLightest) lightest = std::min(lightest, node.weight);
    }
  }
  if (!(last >= first)) return;
  // A single eigenvalue has no range.
  const double range = last > first ? last - first : std::max(std::abs(last), 1.0);
  figures.deviation = range / 100;
  figures.least = lightest * peak(figures.deviation) / 2;
  first -= kWidths * figures.deviation;
  last += kWidths * figures.deviation;
  for (const int i : {0, 1}) {
    if (nodes[i].empty()) continue;
    for (int k = 0; k <= kPlaces; ++k) {
      const double place = first + (last - first) * k / kPlaces;
      const double density = density_at(place, nodes[i], figures.deviation);
      densities[i]->curve.emplace_back(place, density < figures.least ? NAN : density);
    }
  }
}

std::string eigenvalues_text(const char* name, const std::vector<EigenvaluePoint>& points) {
  std::string block = fmt::format("\n\n# eigenvalues {}: tokens, largest, second, ...\n", name);
  size_t count = 1;
  for (const EigenvaluePoint& point : points) count = std::max(count, point.values.size());
  for (const EigenvaluePoint& point : points) {
    block += gnuplot_number(point.tokens);
    for (size_t k = 0; k < count; ++k) {
      block += fmt::format(" {}", gnuplot_number(k < point.values.size() ? point.values[k] : NAN));
    }
    block += "\n";
  }
  return points.empty() ? block + "NaN NaN\n" : block;
}

std::string density_text(const char* name, const SpectralDensity& density) {
  std::string block = fmt::format("\n\n# density {}: eigenvalue density\n", name);
  for (const auto& [value, height] : density.curve) {
    block += fmt::format("{} {}\n", gnuplot_number(value), gnuplot_number(height));
  }
  return density.curve.empty() ? block + "NaN NaN\n" : block;
}

}  // namespace

SpectrumFigures spectrum_figures(const Json& cases) try {
  SpectrumFigures figures;
  for (const Json& content : cases) {
    const Json& tokens = content["checkpoint"]["tokens"];
    const Json top =
        content.value("spectrum", Json::object()).value("top_eigenvalues", Json::array());
    if (!tokens.is_number() || top.empty()) continue;
    EigenvaluePoint point{.tokens = tokens, .values = {}};
    for (const Json& value : top) {
      point.values.push_back(value.at("value").is_number() ? value.at("value").get<double>() : NAN);
    }
    (content["case"] == "seen" ? figures.seen : figures.unseen).push_back(std::move(point));
  }
  for (auto* points : {&figures.seen, &figures.unseen}) {
    std::ranges::stable_sort(*points, {}, &EigenvaluePoint::tokens);
  }
  add_densities(cases, figures);
  return figures;
} catch (const Json::exception& error) {
  fail(ErrorKind::kData, "the \"spectrum\" of a case file is damaged: {}", error.what());
}

std::string spectrum_data_text(const SpectrumFigures& figures) {
  return eigenvalues_text("seen", figures.seen) + eigenvalues_text("unseen", figures.unseen) +
         density_text("seen", figures.seen_density) +
         density_text("unseen", figures.unseen_density);
}

}  // namespace saddle::analysis
