#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "plot/figure_writer.h"
#include "report/palette.h"

namespace saddle::report {
namespace {

constexpr int kWidth = 1000, kHeight = 560, kRowHeight = 22;  // of a figure, of a line of its key
constexpr size_t kRowsWithin = 6;                             // of the key that kHeight holds

// "8 4" -> (8,4)
std::string gnuplot_dashes(std::string dashes) {
  if (dashes.empty()) return "1";
  std::ranges::replace(dashes, ' ', ',');
  return fmt::format("({})", dashes);
}

std::string block(const std::string& name, const Curve& points) {
  // Comments end at the line, whatever a directory is called.
  std::string text = fmt::format("# {}: tokens value\n", plot::gnuplot_quoted(name));
  for (const Point& point : points) {
    text += fmt::format("{} {}\n", plot::gnuplot_number(point.tokens),
                        plot::gnuplot_number(point.value));
  }
  return (points.empty() ? text + "NaN NaN\n" : text) + "\n\n";
}

class Figures {
 public:
  Figures(const std::vector<Chart>& charts, const std::vector<Run>& runs)
      : charts_(charts),
        runs_(runs),
        unit_(plot::token_unit(most_tokens(charts))),
        out_(unit_.name) {}

  plot::FigureSet set() {
    plot::FigureSet set;
    std::vector<size_t> first;  // block of each chart
    size_t blocks = 0;
    for (const Chart& chart : charts_) {
      first.push_back(blocks);
      set.names.push_back(chart.name);
      for (const ChartCurve& curve : chart.curves) {
        set.data += block(chart.name + " of " + runs_[curve.run].name, curve.points);
      }
      for (const ChartMark& mark : chart.single) {
        set.data += block(chart.name + " at the end of " + runs_[mark.run].name, {mark.point});
      }
      blocks += chart.curves.size() + chart.single.size();
    }
    for (const bool pdf : {false, true}) {
      for (size_t i = 0; i < charts_.size(); ++i) draw(charts_[i], first[i], pdf);
    }
    set.script = out_.text();
    return set;
  }

 private:
  static double most_tokens(const std::vector<Chart>& charts) {
    double most = 0;
    for (const Chart& chart : charts) most = std::max(most, chart.most_tokens);
    return most;
  }

  std::string style(size_t run, bool marks) const {
    return fmt::format("lw {} dt {}{} lc rgb '{}'", marks ? 2 : 1.6, gnuplot_dashes(dashes_of(run)),
                       marks ? " pt 7 ps 0.5" : "", color_of(run).on_light);
  }

  void draw(const Chart& chart, size_t index, bool pdf) {
    const size_t rows = chart.curves.size() > kRowsWithin ? chart.curves.size() - kRowsWithin : 0;
    out_.begin(chart.name, pdf, kWidth, kHeight + kRowHeight * static_cast<int>(rows));
    out_.add(fmt::format("set title '{}'\nset key below left vertical maxcols 1 Left reverse\n",
                         chart.title));
    out_.linear_axis(chart.unit.c_str());
    std::vector<std::string> curves;
    for (const ChartCurve& curve : chart.curves) {
      curves.push_back(fmt::format(
          "'{}' index {} using ($1/{:g}):2 with {} {} title \"{}\" "
          "noenhanced",
          plot::kFigureData, index++, unit_.tokens, chart.marks ? "linespoints" : "lines",
          style(curve.run, chart.marks), plot::gnuplot_quoted(runs_[curve.run].name)));
    }
    for (const ChartMark& mark : chart.single) {
      curves.push_back(
          fmt::format("'{}' index {} using ($1/{:g}):2 with points pt 6 ps 1.4 lw 2 "
                      "lc rgb '{}' notitle",
                      plot::kFigureData, index++, unit_.tokens, color_of(mark.run).on_light));
    }
    if (chart.logarithmic) {
      out_.logarithmic_axis(chart.least, chart.most);
    } else if (!curves.empty()) {
      out_.add(
          fmt::format("set offsets 0,0,0,0\nset yrange [{:g}:{:g}]\n", chart.least, chart.most));
    }
    out_.plot(curves, "no values");
    if (chart.logarithmic) {
      out_.end_logarithmic_axis();
    } else {
      out_.add("set yrange [*:*]\n");
    }
    out_.end();
  }

  const std::vector<Chart>& charts_;
  const std::vector<Run>& runs_;
  plot::TokenUnit unit_;
  plot::FigureWriter out_;
};

}  // namespace

plot::FigureSet figure_set(const std::vector<Chart>& charts, const std::vector<Run>& runs) {
  return Figures(charts, runs).set();
}

}  // namespace saddle::report
