// The charts of a report, with their curves and axes. They are drawn by gnuplot (figures.h) and as
// SVG in the page (svg_chart.h).
#pragma once

#include <string>
#include <vector>

#include "report/runs.h"

namespace saddle::report {

struct ChartCurve {
  size_t run = 0;  // index in the report, which decides colour and dashes
  Curve points;
  Curve trend;  // means of neighbouring points for a long curve of single updates; else empty
};

struct ChartMark {
  size_t run = 0;
  Point point;
};

struct Chart {
  std::string name;  // of its files
  std::string title;
  std::string unit;          // of the values
  std::string about;         // one sentence about the chart
  bool marks = false;        // each point is drawn
  bool logarithmic = false;  // for the axis of values
  std::vector<ChartCurve> curves{};
  std::vector<ChartMark> single{};  // separate points: the whole validation split
  double most_tokens = 0;
  double tokens_axis = 1;      // where that axis ends
  double least = 0, most = 1;  // of the axis of values
  bool thinned = false;        // points are means of neighbouring points
  int64_t outside = 0;         // number of early values above the axis
};

inline constexpr size_t kMostPoints = 500;  // of a curve
inline constexpr size_t kTrendPoints = 60;

// Training loss, validation loss and throughput; with several workers also their consensus
// distance.
std::vector<Chart> make_charts(const std::vector<Run>& runs);

// Whether a point can be drawn: its value is finite, and positive on a logarithmic axis.
bool has_place(const Chart& chart, const Point& point);

// Positions of labels on an axis of values: about `count` round numbers; none if the range is no
// wider than rounding.
std::vector<double> ticks(double least, double most, int count);
// The same on a logarithmic one, from `least` > 0.
std::vector<double> logarithmic_ticks(double least, double most);

}  // namespace saddle::report
