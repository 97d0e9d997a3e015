// The gnuplot script of the figures.
#pragma once

#include <string>
#include <vector>

#include "analysis/figures_data.h"

namespace saddle::analysis {

// Names of the figures of this data, without ".png" and ".pdf".
std::vector<std::string> figure_names(const FigureData& data);

// Draws every figure from kFigureData in its working directory. The variables `prefix` and
// `suffix`, if defined, are put around the name of each file that it writes.
std::string figure_script(const FigureData& data);

}  // namespace saddle::analysis
