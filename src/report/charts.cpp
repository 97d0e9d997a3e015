#include "report/charts.h"

#include <algorithm>
#include <cmath>

namespace saddle::report {
namespace {

constexpr double kEarly = 0.05;   // of the tokens: values there may lie above the axis
constexpr double kMargin = 0.05;  // of the range, around the values

void see(double value, double& least, double& most) {
  least = std::min(least, value);
  most = std::max(most, value);
}

// The axis holds every value but the early ones: those of the first updates would press all others
// together.
void choose_axis(Chart& chart, bool from_zero) {
  double least = INFINITY, most = -INFINITY;
  for (const ChartCurve& curve : chart.curves) {
    for (const Point& point : curve.points)
      chart.most_tokens = std::max(chart.most_tokens, point.tokens);
  }
  for (const ChartMark& mark : chart.single) {
    chart.most_tokens = std::max(chart.most_tokens, mark.point.tokens);
    see(mark.point.value, least, most);
  }
  // Room for a ring at the end.
  chart.tokens_axis = std::max(1.02 * chart.most_tokens, 1.0);
  const auto usable = [&](const Point& point) {
    return std::isfinite(point.value) && (!chart.logarithmic || point.value > 0);
  };
  for (const bool early : {false, true}) {
    if (early && most >= least) break;  // no run came further
    for (const ChartCurve& curve : chart.curves) {
      for (const Point& point : curve.points) {
        if (usable(point) && (early || point.tokens > kEarly * chart.most_tokens)) {
          see(point.value, least, most);
        }
      }
    }
  }
  if (!(most >= least)) return;
  if (chart.logarithmic) {
    chart.least = least / 1.25;
    chart.most = most * 1.25;
  } else {
    if (from_zero) least = std::min(least, 0.0);
    double range = most - least;
    if (range <= 0) range = std::max(std::abs(most), 1e-12);
    chart.least = from_zero ? least : least - kMargin * range;
    chart.most = most + kMargin * range;
  }
  for (const ChartCurve& curve : chart.curves) {
    chart.outside += std::ranges::count_if(curve.points, [&](const Point& point) {
      return usable(point) && point.value > chart.most;
    });
  }
}

template <class Member>
void add_curves(const std::vector<Run>& runs, Member member, Chart& chart) {
  for (size_t i = 0; i < runs.size(); ++i) {
    const Curve& curve = runs[i].*member;
    const bool any =
        std::ranges::any_of(curve, [](const Point& point) { return std::isfinite(point.value); });
    if (!any) continue;
    chart.curves.push_back({i, thinned(curve, kMostPoints), {}});
    if (!chart.marks && !chart.logarithmic && curve.size() >= 2 * kTrendPoints) {
      chart.curves.back().trend = thinned(curve, kTrendPoints);
    }
    if (curve.size() > kMostPoints) chart.thinned = true;
  }
}

}  // namespace

std::vector<Chart> make_charts(const std::vector<Run>& runs) {
  std::vector<Chart> charts;
  Chart train{.name = "train_loss",
              .title = "Training loss",
              .unit = "nats per token",
              .about = "Loss of the logged updates; of several workers the mean."};
  add_curves(runs, &Run::train, train);
  choose_axis(train, false);
  charts.push_back(train);

  Chart validation{.name = "validation_loss",
                   .title = "Validation loss",
                   .unit = "nats per token",
                   .about =
                       "Loss on the fixed subset after each epoch; a ring is the loss on the "
                       "whole validation split after the last update.",
                   .marks = true};
  add_curves(runs, &Run::subset, validation);
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].validation) validation.single.push_back({i, *runs[i].validation});
  }
  choose_axis(validation, false);
  charts.push_back(validation);

  Chart throughput{.name = "throughput",
                   .title = "Throughput",
                   .unit = "tokens per second",
                   .about =
                       "Rate of training between logged updates, without evaluation and "
                       "checkpoints."};
  add_curves(runs, &Run::throughput, throughput);
  choose_axis(throughput, true);
  charts.push_back(throughput);

  Chart consensus{.name = "consensus_distance",
                  .title = "Consensus distance",
                  .unit = "mean squared distance",
                  .about =
                      "How far the workers' weights are from their average, on a logarithmic "
                      "axis.",
                  .logarithmic = true};
  add_curves(runs, &Run::consensus, consensus);
  choose_axis(consensus, false);
  if (!consensus.curves.empty()) charts.push_back(consensus);
  return charts;
}

std::vector<double> ticks(double least, double most, int count) {
  const double rough = (most - least) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double factor = rough / power;
  const double step = power * (factor <= 1.2 ? 1 : factor <= 2.5 ? 2 : factor <= 6 ? 5 : 10);
  std::vector<double> places;
  for (double k = std::ceil(least / step); k * step <= most * (1 + 1e-12); ++k) {
    places.push_back(k * step);
  }
  return places;
}

std::vector<double> logarithmic_ticks(double least, double most) {
  const double range = most / least;
  std::vector<double> factors = {1};
  if (range < 1000) factors = {1, 2, 5};
  if (range < 8) factors = {1, 1.5, 2, 3, 5, 7};
  const int stride = range > 1e10 ? 3 : range > 1e6 ? 2 : 1;
  std::vector<double> places;
  const int first = static_cast<int>(std::floor(std::log10(least)));
  for (int power = first; std::pow(10.0, power) <= most; power += stride) {
    for (const double factor : factors) {
      const double value = factor * std::pow(10.0, power);
      if (value >= least && value <= most) places.push_back(value);
    }
  }
  return places;
}

}  // namespace saddle::report
