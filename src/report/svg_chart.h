// A chart of a report as an HTML figure: curves are SVG and labels are text around it, so that the
// text keeps its size while the curves stretch to the width of the screen.
#pragma once

#include <string>
#include <vector>

#include "report/charts.h"

namespace saddle::report {

// The figure element with its plot and caption, but without </figure>, so that links can follow.
std::string svg_figure(const Chart& chart, const std::vector<Run>& runs);

// A short sample of a run's line, for legends.
std::string line_sample(size_t run);

}  // namespace saddle::report
