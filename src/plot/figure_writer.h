// The parts of a gnuplot script that figures are made of.
#pragma once

#include <string>
#include <vector>

namespace saddle::plot {

inline constexpr const char* kFigureData = "figures.dat";

// Colours that colour-blind people can tell apart (Okabe and Ito).
inline constexpr const char* kBlue = "#0072B2";
inline constexpr const char* kRed = "#D55E00";
inline constexpr const char* kGreen = "#009E73";
inline constexpr const char* kGray = "#999999";

// The unit of an axis of tokens that reaches `most`.
struct TokenUnit {
  double tokens;
  const char* name;
};
TokenUnit token_unit(double most);

// A number of the data file: gnuplot's only word for a number that is not finite is NaN.
std::string gnuplot_number(double value);
// Text for gnuplot's double quotes.
std::string gnuplot_quoted(const std::string& text);

class FigureWriter {
 public:
  // Writes what is common to all figures; `tokens` is the label of an axis of tokens.
  explicit FigureWriter(const std::string& tokens);

  const std::string& text() const { return text_; }
  void add(const std::string& text) { text_ += text; }

  // Sizes are pixels of the PNG; 100 pixels are one inch of the PDF.
  void begin(const std::string& name, bool pdf, int width, int height);
  void end() { text_ += "unset output\n"; }

  // `nothing` is the text of a figure without curves.
  void plot(const std::vector<std::string>& curves, const char* nothing);

  void linear_axis(const char* label);
  // Slightly wider than [least, most], with more labels the fewer powers of ten it spans; gnuplot's
  // own choice if the bounds are not positive and finite.
  void logarithmic_axis(double least, double most);
  void end_logarithmic_axis();

 private:
  std::string text_;
};

}  // namespace saddle::plot
