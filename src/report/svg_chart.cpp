#include "report/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/columns.h"
#include "report/html.h"
#include "report/palette.h"

namespace saddle::report {
namespace {

constexpr double kSide = 1000;  // of the coordinates; the page scales them to its own size
constexpr int kTokenTicks = 5, kValueTicks = 5;

std::string tick_text(double value) {
  if (std::abs(value) >= 1e4 && std::abs(value) < 1e12) return grouped(value);
  return fmt::format("{:g}", std::abs(value) < 1e-12 ? 0 : value);
}

// 1200000 -> 1.2 M
std::string short_tokens(double tokens) {
  if (tokens >= 1e9) return fmt::format("{:g} B", tokens / 1e9);
  if (tokens >= 1e6) return fmt::format("{:g} M", tokens / 1e6);
  if (tokens >= 1e3) return fmt::format("{:g} k", tokens / 1e3);
  return tick_text(tokens);
}

class Plot {
 public:
  Plot(const Chart& chart, const std::vector<Run>& runs) : chart_(chart), runs_(runs) {}

  std::string text() const {
    std::string text = "<div class=\"plot\">\n";
    text += axis_labels();
    text += fmt::format(
        "<svg viewBox=\"0 0 {0:g} {0:g}\" preserveAspectRatio=\"none\" role=\"img\" "
        "aria-labelledby=\"{1}-title\" aria-describedby=\"{1}-text\">\n"
        "<desc id=\"{1}-text\">{2}</desc>\n",
        kSide, chart_.name, html(description()));
    text += grid();
    for (const ChartCurve& curve : chart_.curves) text += drawn(curve);
    for (const ChartMark& mark : chart_.single) text += ring(mark);
    return text + "</svg>\n</div>\n";
  }

 private:
  double x(double tokens) const { return kSide * tokens / chart_.tokens_axis; }
  double y(double value) const {
    const auto place = [&](double v) { return chart_.logarithmic ? std::log(v) : v; };
    return kSide * (place(chart_.most) - place(value)) / (place(chart_.most) - place(chart_.least));
  }
  bool has_place(const Point& point) const {
    return std::isfinite(point.value) && (!chart_.logarithmic || point.value > 0);
  }

  std::vector<double> value_ticks() const {
    return chart_.logarithmic ? logarithmic_ticks(chart_.least, chart_.most)
                              : ticks(chart_.least, chart_.most, kValueTicks);
  }
  std::vector<double> token_ticks() const { return ticks(0, chart_.tokens_axis, kTokenTicks); }

  std::string grid() const {
    std::string path;
    for (const double value : value_ticks()) path += fmt::format("M0 {:.1f}H{:g}", y(value), kSide);
    for (const double value : token_ticks()) path += fmt::format("M{:.1f} 0V{:g}", x(value), kSide);
    return fmt::format("<path class=\"grid\" d=\"{}\"/>\n", path);
  }

  std::string axis_labels() const {
    std::string text = "<div class=\"labels\" aria-hidden=\"true\">\n";
    for (const double value : value_ticks()) {
      text += fmt::format("<span class=\"y\" style=\"top:{:.2f}%\">{}</span>", y(value) / 10,
                          tick_text(value));
    }
    for (const double value : token_ticks()) {
      text += fmt::format("<span class=\"x\" style=\"left:{:.2f}%\">{}</span>", x(value) / 10,
                          short_tokens(value));
    }
    return text + "<span class=\"axis\">tokens</span>\n</div>\n";
  }

  // Paths of the pieces between values that are not finite. Isolated values are lines of zero
  // length, which the round line ends draw as dots.
  void trace(const Curve& points, std::string& lines, std::string& dots) const {
    for (size_t i = 0; i < points.size(); ++i) {
      if (!has_place(points[i])) continue;
      const bool begins = i == 0 || !has_place(points[i - 1]);
      const bool ends = i + 1 == points.size() || !has_place(points[i + 1]);
      const std::string place =
          fmt::format("{:.1f} {:.1f}", x(points[i].tokens), y(points[i].value));
      if (chart_.marks || (begins && ends)) dots += fmt::format("M{}h0", place);
      if (!begins || !ends) lines += fmt::format("{}{}", begins ? 'M' : 'L', place);
    }
  }

  std::string drawn(const ChartCurve& curve) const {
    std::string lines, dots, trend, ignored;
    trace(curve.points, lines, dots);
    trace(curve.trend, trend, ignored);
    std::string text = fmt::format("<g class=\"curve run-{} {}\"><title>{}</title>", curve.run,
                                   style_of(curve.run), html(runs_[curve.run].name));
    const auto add = [&](const char* kind, const std::string& path) {
      if (!path.empty()) text += fmt::format("<path class=\"{}\" d=\"{}\"/>", kind, path);
    };
    add(trend.empty() ? "line" : "single", lines);
    add("line", trend);
    add("dots", dots);
    return text + "</g>\n";
  }

  std::string ring(const ChartMark& mark) const {
    const std::string place =
        fmt::format("M{:.1f} {:.1f}h0", x(mark.point.tokens), y(mark.point.value));
    return fmt::format(
        "<g class=\"ring run-{0} {1}\"><title>{2}, whole validation split</title>"
        "<path class=\"outer\" d=\"{3}\"/><path class=\"inner\" d=\"{3}\"/></g>\n",
        mark.run, style_of(mark.run), html(runs_[mark.run].name), place);
  }

  static std::string style_of(size_t run) {
    return fmt::format("c{} d{}", run % kColors.size(), run % kDashes.size());
  }

  // A description of the curves for people who cannot see them.
  std::string description() const {
    if (chart_.curves.empty()) return "No values.";
    std::string text = fmt::format("{} curves over {} tokens.", chart_.curves.size(),
                                   short_tokens(chart_.most_tokens));
    for (const ChartCurve& curve : chart_.curves) {
      const auto first =
          std::ranges::find_if(curve.points, [&](const Point& point) { return has_place(point); });
      const auto last = std::find_if(curve.points.rbegin(), curve.points.rend(),
                                     [&](const Point& point) { return has_place(point); });
      if (first == curve.points.end()) continue;
      text += fmt::format(" {}: from {:.4g} to {:.4g}.", runs_[curve.run].name, first->value,
                          last->value);
    }
    return text;
  }

  const Chart& chart_;
  const std::vector<Run>& runs_;
};

}  // namespace

std::string line_sample(size_t run) {
  return fmt::format(
      "<svg class=\"sample c{} d{}\" viewBox=\"0 0 34 10\" aria-hidden=\"true\">"
      "<path d=\"M1 5H33\"/></svg>",
      run % kColors.size(), run % kDashes.size());
}

std::string svg_figure(const Chart& chart, const std::vector<Run>& runs) {
  std::string text = fmt::format(
      "<figure id=\"{0}\">\n<figcaption><h3 id=\"{0}-title\">{1} <small>{2}</small></h3>"
      "</figcaption>\n",
      chart.name, html(chart.title), html(chart.unit));
  if (chart.curves.empty()) {
    return text + "<p class=\"empty\">No run has values for this chart yet.</p>\n";
  }
  text += Plot(chart, runs).text() + "<div class=\"legend\">";
  for (const ChartCurve& curve : chart.curves) {
    text += fmt::format("<label for=\"show-{0}\" class=\"for-{0}\">{1}{2}</label>", curve.run,
                        line_sample(curve.run), html(runs[curve.run].name));
  }
  text += fmt::format("</div>\n<p class=\"about\">{}", html(chart.about));
  const bool trends = std::ranges::any_of(
      chart.curves, [](const ChartCurve& curve) { return !curve.trend.empty(); });
  if (trends) text += " The thick line is the mean of neighbouring values.";
  if (chart.thinned) {
    text += " For long runs the thin line is also a mean.";
  }
  if (chart.outside > 0) {
    text += fmt::format(" {} early {} above the axis.", chart.outside,
                        chart.outside == 1 ? "value is" : "values are");
  }
  return text + "</p>\n";
}

}  // namespace saddle::report
