// The charts of a report as gnuplot figures.
#pragma once

#include <vector>

#include "plot/gnuplot.h"
#include "report/charts.h"

namespace saddle::report {

// One figure per chart, with its name.
plot::FigureSet figure_set(const std::vector<Chart>& charts, const std::vector<Run>& runs);

}  // namespace saddle::report
