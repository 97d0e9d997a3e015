#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "plot/figure_writer.h"
#include "report/palette.h"

namespace saddle::report {
namespace {

constexpr int kWidth = 1000, kHeight = 540, kRowHeight = 22;  // of a figure, of a line of its key
constexpr size_t kKeyCharacters = 120;                        // of a line of the key

// "8 4" -> (8,4)
std::string gnuplot_dashes(std::string dashes) {
  if (dashes.empty()) return "1";
  std::ranges::replace(dashes, ' ', ',');
  return fmt::format("({})", dashes);
}

std::string block(const std::string& name, const Curve& points) {
  // gnuplot_quoted() keeps the comment on one line, whatever the name of a directory.
  std::string text = fmt::format("# {}: tokens value\n", plot::gnuplot_quoted(name));
  for (const Point& point : points) {
    text += fmt::format("{} {}\n", plot::gnuplot_number(point.tokens),
                        plot::gnuplot_number(point.value));
  }
  return (points.empty() ? text + "NaN NaN\n" : text) + "\n\n";
}

// Whether there is an isolated point, which lines do not show.
bool has_single_point(const Chart& chart, const Curve& points) {
  for (size_t i = 0; i < points.size(); ++i) {
    if (!has_place(chart, points[i])) continue;
    const bool begins = i == 0 || !has_place(chart, points[i - 1]);
    const bool ends = i + 1 == points.size() || !has_place(chart, points[i + 1]);
    if (begins && ends) return true;
  }
  return false;
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
        const std::string of = " of " + runs_[curve.run].name;
        set.data += block(chart.name + of, curve.points);
        blocks += 1;
        if (curve.trend.empty()) continue;
        set.data += block(chart.name + ", means of neighbouring points," + of, curve.trend);
        blocks += 1;
      }
      for (const ChartMark& mark : chart.single) {
        set.data += block(chart.name + " at the end of " + runs_[mark.run].name, {mark.point});
      }
      blocks += chart.single.size();
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

  std::string values(size_t index) const {
    return fmt::format("'{}' index {} using ($1/{:g}):2", plot::kFigureData, index, unit_.tokens);
  }

  // Behind a trend: thin, solid and mostly transparent.
  static std::string single_values(size_t run) {
    return fmt::format(" with lines lw 0.7 dt 1 lc rgb '#C0{}'", color_of(run).on_light + 1);
  }

  void draw(const Chart& chart, size_t index, bool pdf) {
    const size_t count = chart.curves.size();
    size_t longest = 1;
    for (const ChartCurve& curve : chart.curves) {
      longest = std::max(longest, runs_[curve.run].name.size());
    }
    const size_t columns = std::clamp<size_t>(kKeyCharacters / (longest + 8), 1, 4);
    const size_t rows = (count + columns - 1) / columns;
    out_.begin(chart.name, pdf, kWidth, kHeight + kRowHeight * static_cast<int>(rows));
    out_.add(fmt::format("set title '{}'\nset key below center vertical maxrows {} Left reverse\n",
                         chart.title, std::max<size_t>(rows, 1)));
    out_.linear_axis(chart.unit.c_str());
    std::vector<std::string> curves;
    for (const ChartCurve& curve : chart.curves) {
      const bool trend = !curve.trend.empty();
      const std::string title =
          fmt::format("title \"{}\" noenhanced", plot::gnuplot_quoted(runs_[curve.run].name));
      const bool dots = chart.marks || has_single_point(chart, trend ? curve.trend : curve.points);
      if (trend) curves.push_back(values(index++) + single_values(curve.run) + " notitle");
      curves.push_back(values(index++) + (dots ? " with linespoints " : " with lines ") +
                       style(curve.run, dots) + " " + title);
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
      out_.add(fmt::format("set offsets 0,0,0,0\nset yrange [{}:{}]\n",
                           plot::gnuplot_number(chart.least), plot::gnuplot_number(chart.most)));
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
