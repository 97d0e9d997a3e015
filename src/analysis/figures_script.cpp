#include "analysis/figures_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plot/figure_writer.h"

namespace saddle::analysis {
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

using plot::FigureWriter;
using plot::kBlue;
using plot::kFigureData;
using plot::kGray;
using plot::kGreen;
using plot::kRed;

plot::TokenUnit token_unit(const FigureData& data) {
  double most = 0;
  for (const FigureSeries* series : {&data.seen, &data.unseen}) {
    for (const FigurePoint& point : series->points) most = std::max(most, point.tokens);
  }
  for (const auto& [tokens, norm] : data.training) most = std::max(most, tokens);
  return plot::token_unit(most);
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
  explicit Script(const FigureData& data)
      : data_(data), unit_(token_unit(data)), out_(unit_.name) {}

  std::string text() {
    for (const bool pdf : {false, true}) {
      panels("normalized_alignment", pdf);
      single("noise_alignment", pdf, kNoise,
             "Noise alignment:  mean of v^{T}Hv over the noise v of the batches",
             "noise alignment (nats^3)");
      single("random_alignment", pdf, kRandom,
             "Random alignment:  mean of s^{T}Hs / D over random signs s",
             "random alignment (nats)");
      norms(pdf);
      if (data_.spectrum.has_eigenvalues()) eigenvalues(pdf);
      if (data_.spectrum.has_density()) density(pdf);
    }
    return out_.text();
  }

 private:
  // The curve of a column for one case: seen solid with filled marks, unseen dashed with open ones.
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

  std::vector<std::string> both(int column) const {
    std::vector<std::string> curves;
    curve(curves, true, column, kBlue, "seen");
    curve(curves, false, column, kRed, "unseen");
    return curves;
  }

  // An axis for the values of these columns.
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
    out_.logarithmic_axis(least, most);
  }

  void single(const char* name, bool pdf, int column, const char* title, const char* label) {
    out_.begin(name, pdf, 900, 600);
    out_.add(fmt::format("set title '{}'\n", title));
    out_.linear_axis(label);
    out_.plot(both(column), "no values");
    out_.end();
  }

  int64_t not_positive() const { return data_.seen.not_positive + data_.unseen.not_positive; }

  // The second line of a title.
  std::string left_out() const {
    const int64_t seen = data_.seen.not_positive, unseen = data_.unseen.not_positive;
    if (not_positive() == 0) return "";
    return fmt::format("\\n{{/*0.85 {} non-positive {} omitted: {} seen, {} unseen}}",
                       seen + unseen, seen + unseen == 1 ? "value is" : "values are", seen, unseen);
  }

  void panels(const char* name, bool pdf) {
    out_.begin(name, pdf, 1400, 620);
    out_.add(
        "set multiplot layout 1,2 title 'Normalized alignment:  Σ v^{T}Hv / Σ ‖v‖^2 over the noise "
        "v of the batches'\n");
    // As many lines as the other title, so that the panels have the same height.
    out_.add(
        fmt::format("set title \"linear{}\"\n", not_positive() == 0 ? "" : "\\n{/*0.85 &{0}}"));
    out_.linear_axis("normalized alignment (nats)");
    out_.plot(both(kNormalized), "no values");
    // In double quotes, where \n starts a new line.
    out_.add(fmt::format("set title \"logarithmic{}\"\n", left_out()));
    logarithmic_axis({kNormalizedPositive}, false);
    out_.plot(both(kNormalizedPositive), "no positive values");
    out_.end_logarithmic_axis();
    out_.add("unset multiplot\n");
    out_.end();
  }

  void norms(bool pdf) {
    out_.begin("norms", pdf, 1280, 600);
    out_.add("set title 'Gradient and noise norms'\n");
    out_.linear_axis("norm (nats)");
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
    out_.add("set key outside right center vertical Left reverse\n");
    logarithmic_axis({kGradient, kMeanGradient, kMeanNoise}, true);
    out_.plot(curves, "no values");
    out_.end_logarithmic_axis();
    out_.add("set key below center horizontal Right noreverse\n");
    out_.end();
  }

  // The largest eigenvalue and, in thinner lines, those after it.
  void eigenvalues(bool pdf) {
    out_.begin("largest_eigenvalues", pdf, 900, 600);
    out_.add("set title 'Largest eigenvalues of the Hessian'\n");
    out_.linear_axis("eigenvalue (nats)");
    std::vector<std::string> curves;
    for (const bool seen : {true, false}) {
      const auto& points = seen ? data_.spectrum.seen : data_.spectrum.unseen;
      size_t count = 0;
      for (const EigenvaluePoint& point : points) count = std::max(count, point.values.size());
      for (size_t k = 0; k < count; ++k) {
        const std::string title =
            k == 0   ? fmt::format("title 'largest, {}'", seen ? "seen" : "unseen")
            : k == 1 ? fmt::format("title 'the {} after it'",
                                   count == 2 ? "one" : fmt::format("{}", count - 1))
                     : "notitle";
        curves.push_back(fmt::format(
            "'{}' index {} using ($1/{:g}):{} with linespoints lw {} dt {} pt {} ps {} lc rgb "
            "'{}' {}",
            kFigureData, seen ? 3 : 4, unit_.tokens, k + 2, k == 0 ? 2 : 0.8, seen ? "1" : "(9,6)",
            seen ? 7 : 6, k == 0 ? 0.9 : 0.5, seen ? kBlue : kRed, title));
      }
    }
    out_.plot(curves, "no values");
    out_.end();
  }

  void density(bool pdf) {
    const SpectrumFigures& spectrum = data_.spectrum;
    out_.begin("spectral_density", pdf, 900, 600);
    out_.add(
        fmt::format("set title \"Density of the Hessian's eigenvalues at the last checkpoint\\n"
                    "{{/*0.85 Lanczos quadrature smoothed by Gaussians of deviation {:.2g}}}\"\n"
                    "set xlabel 'eigenvalue (nats)'\nset xrange [*:*]\n",
                    spectrum.deviation));
    out_.linear_axis("share of eigenvalues per nat");
    double most = 0;
    std::vector<std::string> curves;
    for (const bool seen : {true, false}) {
      const SpectralDensity& density = seen ? spectrum.seen_density : spectrum.unseen_density;
      if (density.curve.empty()) continue;
      for (const auto& [value, height] : density.curve) {
        if (height > most) most = height;
      }
      curves.push_back(fmt::format(
          "'{}' index {} using 1:2 with lines lw 2 dt {} lc rgb '{}' title \"{}, {}\" noenhanced",
          kFigureData, seen ? 5 : 6, seen ? "1" : "(9,6)", seen ? kBlue : kRed,
          seen ? "seen" : "unseen", plot::gnuplot_quoted(density.checkpoint)));
    }
    out_.logarithmic_axis(spectrum.least, most);
    out_.plot(curves, "no values");
    out_.end_logarithmic_axis();
    out_.add(fmt::format("set xlabel '{}'\nset xrange [0:*]\n", unit_.name));
    out_.end();
  }

  const FigureData& data_;
  plot::TokenUnit unit_;
  FigureWriter out_;
};

}  // namespace

std::vector<std::string> figure_names(const FigureData& data) {
  std::vector<std::string> names = {"normalized_alignment", "noise_alignment", "random_alignment",
                                    "norms"};
  if (data.spectrum.has_eigenvalues()) names.emplace_back("largest_eigenvalues");
  if (data.spectrum.has_density()) names.emplace_back("spectral_density");
  return names;
}

std::string figure_script(const FigureData& data) {
  return Script(data).text();
}

}  // namespace saddle::analysis
