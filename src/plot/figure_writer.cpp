#include "plot/figure_writer.h"

#include <fmt/format.h>

#include <cmath>

namespace saddle::plot {
namespace {

constexpr double kMargin = 1.2;  // factor of a logarithmic axis around its values

// The labels of a logarithmic axis over this range, as multiples of powers of ten.
std::vector<double> factors(double range) {
  if (range < 30) return {1, 1.5, 2, 3, 5, 7};
  if (range < 1000) return {1, 2, 5};
  return {1};
}

}  // namespace

std::string gnuplot_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "NaN";
}

std::string gnuplot_quoted(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '`') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result;
}

TokenUnit token_unit(double most) {
  if (most >= 2e9) return {1e9, "training tokens (billions)"};
  if (most >= 2e6) return {1e6, "training tokens (millions)"};
  if (most >= 2e4) return {1e3, "training tokens (thousands)"};
  return {1, "training tokens"};
}

FigureWriter::FigureWriter(const std::string& tokens)
    : text_(fmt::format("# Draws the figures: gnuplot figures.gp\n"
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
                        tokens)) {}

void FigureWriter::begin(const std::string& name, bool pdf, int width, int height) {
  text_ +=
      pdf ? fmt::format(
                "\nset terminal pdfcairo size {}in,{}in font 'DejaVu Sans,10' dl 1.5 lw 1.2\n",
                width / 100.0, height / 100.0)
          : fmt::format("\nset terminal pngcairo size {},{} font 'DejaVu Sans,11' dl 1.5 lw 1.4\n",
                        width, height);
  text_ += fmt::format("set output prefix.'{}.{}'.suffix\n", name, pdf ? "pdf" : "png");
}

void FigureWriter::plot(const std::vector<std::string>& curves, const char* nothing) {
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

void FigureWriter::linear_axis(const char* label) {
  text_ += fmt::format(
      "set ylabel '{}'\nset format y '%g'\n"
      "set offsets 0,graph 0.02,graph 0.04,graph 0.04\n",
      label);
}

void FigureWriter::logarithmic_axis(double least, double most) {
  text_ += "set offsets 0,graph 0.02,0,0\nset logscale y\n";
  least /= kMargin;
  most *= kMargin;
  if (!(least > 0 && most >= least && std::isfinite(most))) return;
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
  text_ +=
      fmt::format("set yrange [{:g}:{:g}]\nset ytics ({})\n", least, most, fmt::join(labels, ", "));
}

void FigureWriter::end_logarithmic_axis() {
  text_ += "unset logscale y\nset yrange [*:*]\nset ytics autofreq\n";
}

}  // namespace saddle::plot
