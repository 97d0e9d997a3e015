// Runs gnuplot on a script and publishes its figures whole or not at all.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"

namespace saddle::plot {

struct FigureSet {
  std::string data;                // of kFigureData (figure_writer.h)
  std::string script;              // of FigureWriter
  std::vector<std::string> names;  // of the figures that it draws, without ".png" and ".pdf"
};

// Writes to `directory`, which is created if missing and locked meanwhile, each file whole or not
// at all: figures.dat, figures.gp, and every figure as .png and .pdf. Returns the figures.
// Errors: kIo if files cannot be written or another process draws there; kDevice if gnuplot is
// missing or fails.
std::vector<Path> draw_figures(const Path& directory, const FigureSet& figures);

}  // namespace saddle::plot
