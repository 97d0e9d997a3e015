// A chart of a report as an HTML figure: curves as SVG, labels as text beside it, so that the text
// keeps its size while the curves stretch to the width of a screen.
#pragma once

#include <string>
#include <vector>

#include "report/charts.h"

namespace saddle::report {

// The element figure with its plot and caption, but without </figure>: links may follow.
std::string svg_figure(const Chart& chart, const std::vector<Run>& runs);

// A short sample of a run's line, for legends.
std::string line_sample(size_t run);

}  // namespace saddle::report
