// The parts of gnuplot's language that figures are made of.
#pragma once

#include <string>
#include <vector>

namespace saddle::plot {

inline constexpr const char* kFigureData = "figures.dat";

// Colours that people who do not see all of them can tell apart (Okabe and Ito).
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

// A number of the data file: gnuplot knows no other word than NaN for what is not finite.
std::string gnuplot_number(double value);
// Text for gnuplot's double quotes.
std::string gnuplot_quoted(const std::string& text);

class FigureWriter {
 public:
  // What holds for all figures; `tokens` is the label of an axis of tokens.
  explicit FigureWriter(const std::string& tokens);

  const std::string& text() const { return text_; }
  void add(const std::string& text) { text_ += text; }

  // Sizes are those of the PNG in pixels; 100 of them are an inch of the PDF.
  void begin(const std::string& name, bool pdf, int width, int height);
  void end() { text_ += "unset output\n"; }

  // `nothing` stands in a figure without curves.
  void plot(const std::vector<std::string>& curves, const char* nothing);

  void linear_axis(const char* label);
  // A little wider than from `least` to `most`, with more labels the fewer powers of ten that are;
  // gnuplot's own choice when they are not positive and finite.
  void logarithmic_axis(double least, double most);
  void end_logarithmic_axis();

 private:
  std::string text_;
};

}  // namespace saddle::plot
