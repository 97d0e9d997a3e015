#include "report/charts.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace saddle::report {
namespace {

constexpr double kEarly = 0.05;       // of a curve's tokens: values there may exceed the axis
constexpr double kMargin = 0.05;      // of the range, around the values
constexpr double kFactor = 1.3;       // the same on a logarithmic axis
constexpr double kLeastRange = 1e-4;  // of the values: labels with six digits still differ
constexpr double kFarthest = 1e300;   // values beyond it leave no room for a margin

// Tokens of the last point that can be drawn.
double last_tokens(const Chart& chart, const Curve& curve) {
  const auto last = std::find_if(curve.rbegin(), curve.rend(),
                                 [&](const Point& point) { return has_place(chart, point); });
  return last == curve.rend() ? 0 : last->tokens;
}

void set_limits(double least, double most, bool from_zero, Chart& chart) {
  if (chart.logarithmic) {
    chart.least = least / kFactor;
    chart.most = most * kFactor;
    return;
  }
  if (from_zero) least = std::min(least, 0.0);
  double range = most - least;
  const double size = std::max({std::abs(least), std::abs(most), 1e-12});
  if (range <= 0) {
    range = size;
  } else if (range < kLeastRange * size) {
    const double missing = kLeastRange * size - range;
    least -= missing / 2;
    most += missing / 2;
    range = most - least;
  }
  chart.least = from_zero ? least : least - kMargin * range;
  chart.most = most + kMargin * range;
}

// The axis holds every value except early ones above all others: the values of the first updates
// would compress the rest.
void choose_axis(Chart& chart, bool from_zero) {
  double least = INFINITY, most = -INFINITY;
  for (const ChartMark& mark : chart.single) {
    chart.most_tokens = std::max(chart.most_tokens, mark.point.tokens);
    if (!has_place(chart, mark.point)) continue;
    least = std::min(least, mark.point.value);
    most = std::max(most, mark.point.value);
  }
  for (const ChartCurve& curve : chart.curves) {
    const double early = kEarly * last_tokens(chart, curve.points);
    for (const Point& point : curve.points) {
      chart.most_tokens = std::max(chart.most_tokens, point.tokens);
      if (!has_place(chart, point)) continue;
      least = std::min(least, point.value);
      if (point.tokens >= early) most = std::max(most, point.value);
    }
  }
  // Room for a ring at the end.
  chart.tokens_axis = std::max(1.02 * chart.most_tokens, 1.0);
  if (!(most >= least)) {
    if (chart.logarithmic) chart.least = 0.1;
    return;
  }
  set_limits(least, most, from_zero, chart);
  for (const ChartCurve& curve : chart.curves) {
    chart.outside += std::ranges::count_if(curve.points, [&](const Point& point) {
      return has_place(chart, point) && point.value > chart.most;
    });
  }
}

// Without the runs that have nothing to draw.
template <class Member>
void add_curves(const std::vector<Run>& runs, Member member, Chart& chart) {
  for (size_t i = 0; i < runs.size(); ++i) {
    const Curve& curve = runs[i].*member;
    const auto drawn = [&](const Point& point) { return has_place(chart, point); };
    Curve points = thinned(curve, kMostPoints);
    if (std::ranges::none_of(points, drawn)) continue;
    chart.curves.push_back({i, std::move(points), {}});
    if (!chart.marks && !chart.logarithmic && curve.size() >= 2 * kTrendPoints) {
      chart.curves.back().trend = thinned(curve, kTrendPoints);
    }
    if (curve.size() > kMostPoints) chart.thinned = true;
  }
}

}  // namespace

bool has_place(const Chart& chart, const Point& point) {
  if (chart.logarithmic) return point.value >= 1 / kFarthest && point.value <= kFarthest;
  return std::abs(point.value) <= kFarthest;
}

std::vector<Chart> make_charts(const std::vector<Run>& runs) {
  std::vector<Chart> charts;
  Chart train{.name = "train_loss",
              .title = "Training loss",
              .unit = "nats per token",
              .about = "Loss of the logged updates; for several workers their mean."};
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
  // Also if all distances are 0, which cannot be shown on its axis.
  const bool several = std::ranges::any_of(runs, [](const Run& run) {
    return std::ranges::any_of(run.consensus,
                               [](const Point& p) { return std::isfinite(p.value); });
  });
  if (several) charts.push_back(consensus);
  return charts;
}

std::vector<double> ticks(double least, double most, int count) {
  constexpr double kRounding = 1e-9;  // of a step
  const double rough = (most - least) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double factor = rough / power;
  const double step = power * (factor <= 1.2 ? 1 : factor <= 2.5 ? 2 : factor <= 6 ? 5 : 10);
  // Within a range of a few roundings all labels would be the same number.
  const double size = std::max(std::abs(least), std::abs(most));
  if (!std::isfinite(step) || !(step > kRounding * size)) return {};
  const double first = std::ceil(least / step - kRounding);
  const double last = std::floor(most / step + kRounding);
  std::vector<double> places;
  for (int i = 0; first + i <= last; ++i) places.push_back((first + i) * step);
  return places;
}

std::vector<double> logarithmic_ticks(double least, double most) {
  if (!(least > 0) || !std::isfinite(most)) return {};
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
