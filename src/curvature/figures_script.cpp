#include "curvature/figures_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace saddle::curvature {
namespace {

// Columns of kFigureData.
enum Column {
  kNormalized = 2,
  kNormalizedPositive = 3,
  kNoise = 4,
  kRandom = 5,
  kGradient = 6,
  kMeanGradient = 7,
  kMeanNoise = 8,
};

// Colours that people who do not see all of them can tell apart (Okabe and Ito).
constexpr const char* kBlue = "#0072B2";
constexpr const char* kRed = "#D55E00";
constexpr const char* kGreen = "#009E73";
constexpr const char* kGray = "#999999";

constexpr double kMargin = 1.2;  // of a logarithmic axis around its values

// Where a logarithmic axis over such a range has labels, in multiples of powers of ten.
std::vector<double> factors(double range) {
  if (range < 30) return {1, 1.5, 2, 3, 5, 7};
  if (range < 1000) return {1, 2, 5};
  return {1};
}

// The unit of the axis of tokens.
struct Unit {
  double tokens;
  const char* name;
};

Unit token_unit(const FigureData& data) {
  double most = 0;
  for (const FigureSeries* series : {&data.seen, &data.unseen}) {
    for (const FigurePoint& point : series->points) most = std::max(most, point.tokens);
  }
  for (const auto& [tokens, norm] : data.training) most = std::max(most, tokens);
  if (most >= 2e9) return {1e9, "training tokens (billions)"};
  if (most >= 2e6) return {1e6, "training tokens (millions)"};
  if (most >= 2e4) return {1e3, "training tokens (thousands)"};
  return {1, "training tokens"};
}

double value_of(const FigurePoint& point, int column) {
  switch (column) {
    case kNormalizedPositive:
      return point.normalized_alignment > 0 ? point.normalized_alignment : NAN;
    case kNormalized:
      return point.normalized_alignment;
    case kNoise:
      return point.noise_alignment;
    case kRandom:
      return point.random_alignment;
    case kGradient:
      return point.gradient_norm;
    case kMeanGradient:
      return point.mean_gradient_norm;
    default:
      return point.mean_noise_norm;
  }
}

bool has_values(const FigureSeries& series, int column) {
  return std::ranges::any_of(series.points, [&](const FigurePoint& point) {
    return std::isfinite(value_of(point, column));
  });
}

class Script {
 public:
  explicit Script(const FigureData& data) : data_(data), unit_(token_unit(data)) {}

  std::string text() {
    text_ = fmt::format(
        "# Draws the figures: gnuplot figures.gp\n"
        "if (!exists(\"prefix\")) prefix = ''\n"
        "if (!exists(\"suffix\")) suffix = ''\n"
        "set encoding utf8\n"
        "set border 3 lw 1.2 lc rgb '#444444'\n"
        "set tics nomirror out scale 0.6 textcolor rgb '#222222'\n"
        "set grid lc rgb '#DDDDDD' lw 0.8 lt 1\n"
        "set key below horizontal spacing 1.3 samplen 4 height 0.5\n"
        "set xlabel '{}'\n"
        "set xrange [0:*]\n"
        "set xzeroaxis lc rgb '#444444' lw 1 lt 1\n",
        unit_.name);
    for (const bool pdf : {false, true}) {
      panels("normalized_alignment", pdf);
      single("noise_alignment", pdf, kNoise,
             "Noise alignment:  mean of v^{T}Hv over the noise v of the batches",
             "noise alignment (nats^3)");
      single("random_alignment", pdf, kRandom,
             "Random alignment:  mean of s^{T}Hs / D over random signs s",
             "random alignment (nats)");
      norms(pdf);
    }
    return text_;
  }

 private:
  // Sizes are those of the PNG in pixels; 100 of them are an inch of the PDF.
  void begin(const std::string& name, bool pdf, int width, int height) {
    text_ +=
        pdf ? fmt::format(
                  "\nset terminal pdfcairo size {}in,{}in font 'DejaVu Sans,10' dl 1.5 lw 1.2\n",
                  width / 100.0, height / 100.0)
            : fmt::format(
                  "\nset terminal pngcairo size {},{} font 'DejaVu Sans,11' dl 1.5 lw 1.4\n", width,
                  height);
    text_ += fmt::format("set output prefix.'{}.{}'.suffix\n", name, pdf ? "pdf" : "png");
  }

  void end() { text_ += "unset output\n"; }

  // The curve of a column for one case: seen solid with full marks, unseen dashed with open ones.
  void curve(std::vector<std::string>& curves, bool seen, int column, const char* color,
             const std::string& title) const {
    const FigureSeries& series = seen ? data_.seen : data_.unseen;
    if (!has_values(series, column)) return;
    curves.push_back(fmt::format(
        "'{}' index {} using ($1/{:g}):{} with linespoints lw 2 dt {} pt {} ps 0.9 lc rgb '{}' "
        "title '{}'",
        kFigureData, seen ? 0 : 1, unit_.tokens, column, seen ? "1" : "(9,6)", seen ? 7 : 6, color,
        title));
  }

  void plot(const std::vector<std::string>& curves, const char* nothing) {
    if (!curves.empty()) {
      text_ += fmt::format("plot {}\n", fmt::join(curves, ", \\\n     "));
      return;
    }
    text_ += fmt::format(
        "set label 9 '{}' at graph 0.5,0.5 center textcolor rgb '#666666'\n"
        "set xrange [0:1]\nset yrange [0.1:1]\nset format ''\nplot NaN notitle\n"
        "unset label 9\nset xrange [0:*]\nset yrange [*:*]\nset format x '%g'\n",
        nothing);
  }

  std::vector<std::string> both(int column) const {
    std::vector<std::string> curves;
    curve(curves, true, column, kBlue, "seen");
    curve(curves, false, column, kRed, "unseen");
    return curves;
  }

  void linear_axis(const char* label) {
    text_ += fmt::format(
        "set ylabel '{}'\nset format y '%g'\n"
        "set offsets 0,graph 0.02,graph 0.04,graph 0.04\n",
        label);
  }

  // A logarithmic axis a little wider than the values of these columns, with more labels the fewer
  // powers of ten it spans.
  void logarithmic_axis(const std::vector<int>& columns, bool training) {
    double least = INFINITY, most = 0;
    const auto see = [&](double value) {
      if (!(value > 0) || !std::isfinite(value)) return;
      least = std::min(least, value);
      most = std::max(most, value);
    };
    for (const FigureSeries* series : {&data_.seen, &data_.unseen}) {
      for (const FigurePoint& point : series->points) {
        for (const int column : columns) see(value_of(point, column));
      }
    }
    if (training) {
      for (const auto& [tokens, norm] : data_.training) see(norm);
    }
    text_ += "set offsets 0,graph 0.02,0,0\nset logscale y\n";
    if (most == 0) return;
    least /= kMargin;
    most *= kMargin;
    std::vector<std::string> labels;
    const int first = static_cast<int>(std::floor(std::log10(least)));
    const int last = static_cast<int>(std::floor(std::log10(most)));
    for (int power = first; power <= last; ++power) {
      for (const double factor : factors(most / least)) {
        const double value = factor * std::pow(10.0, power);
        if (value < least || value > most) continue;
        labels.push_back(fmt::format("'{:g}' {:g}", value, value));
      }
    }
    text_ += fmt::format("set yrange [{:g}:{:g}]\nset ytics ({})\n", least, most,
                         fmt::join(labels, ", "));
  }

  void end_logarithmic_axis() {
    text_ += "unset logscale y\nset yrange [*:*]\nset ytics autofreq\n";
  }

  void single(const char* name, bool pdf, int column, const char* title, const char* label) {
    begin(name, pdf, 900, 600);
    text_ += fmt::format("set title '{}'\n", title);
    linear_axis(label);
    plot(both(column), "no values");
    end();
  }

  int64_t not_positive() const { return data_.seen.not_positive + data_.unseen.not_positive; }

  // The second line of a title.
  std::string left_out() const {
    const int64_t seen = data_.seen.not_positive, unseen = data_.unseen.not_positive;
    if (not_positive() == 0) return "";
    return fmt::format("\\n{{/*0.85 {} non-positive {} left out: {} seen, {} unseen}}",
                       seen + unseen, seen + unseen == 1 ? "value is" : "values are", seen, unseen);
  }

  void panels(const char* name, bool pdf) {
    begin(name, pdf, 1400, 620);
    text_ +=
        "set multiplot layout 1,2 title 'Normalized alignment:  Σ v^{T}Hv / Σ ‖v‖^2 over the noise "
        "v of the batches'\n";
    // As many lines as the other title, so that the panels are of one height.
    text_ += fmt::format("set title \"linear{}\"\n", not_positive() == 0 ? "" : "\\n{/*0.85 &{0}}");
    linear_axis("normalized alignment (nats)");
    plot(both(kNormalized), "no values");
    // In double quotes, where \n begins a line.
    text_ += fmt::format("set title \"logarithmic{}\"\n", left_out());
    logarithmic_axis({kNormalizedPositive}, false);
    plot(both(kNormalizedPositive), "no positive values");
    end_logarithmic_axis();
    text_ += "unset multiplot\n";
    end();
  }

  void norms(bool pdf) {
    begin("norms", pdf, 1280, 600);
    text_ += "set title 'Gradient and noise norms'\n";
    linear_axis("norm (nats)");
    std::vector<std::string> curves;
    if (!data_.training.empty()) {
      curves.push_back(
          fmt::format("'{}' index 2 using ($1/{:g}):2 with lines lw 1 lc rgb '{}' title "
                      "'gradient of an update, logged in training'",
                      kFigureData, unit_.tokens, kGray));
    }
    for (const bool seen : {true, false}) {
      const char* name = seen ? "seen" : "unseen";
      curve(curves, seen, kGradient, kBlue, fmt::format("gradient of the epoch, {}", name));
      curve(curves, seen, kMeanGradient, kGreen,
            fmt::format("gradient of a batch, mean, {}", name));
      curve(curves, seen, kMeanNoise, kRed, fmt::format("noise of a batch, mean, {}", name));
    }
    text_ += "set key outside right center vertical Left reverse\n";
    logarithmic_axis({kGradient, kMeanGradient, kMeanNoise}, true);
    plot(curves, "no values");
    end_logarithmic_axis();
    text_ += "set key below center horizontal Right noreverse\n";
    end();
  }

  const FigureData& data_;
  Unit unit_;
  std::string text_;
};

}  // namespace

std::vector<std::string> figure_names() {
  return {"normalized_alignment", "noise_alignment", "random_alignment", "norms"};
}

std::string figure_script(const FigureData& data) {
  return Script(data).text();
}

}  // namespace saddle::curvature
