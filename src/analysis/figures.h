// `saddle plot-analysis`: figures of the cases in a directory of results, drawn by gnuplot.
#pragma once

#include <optional>
#include <vector>

#include "base/files.h"
#include "base/log.h"

namespace saddle::analysis {

struct FigureOptions {
  Path output;                  // a directory of results (results_directory.h)
  bool training_norms = false;  // also the gradient norms that training logged
  std::optional<Path> run{};    // directory of metrics.jsonl; nothing: the run of the analysis
};

// Writes to output/figures, each file whole or not at all:
//
//   figures.dat, figures.gp    the numbers, and the script that draws them
//   normalized_alignment, noise_alignment, random_alignment, norms   each as .png and .pdf
//   largest_eigenvalues, spectral_density   if the analysis measured them
//
// They are drawn against the tokens trained on; if these are unknown, a case is omitted with a
// warning. May be called while an analysis is running. Returns the figures.
// Errors: kData if there is no finished case or files are damaged; kIo if files cannot be read or
// written, or another process draws there; kDevice if gnuplot is missing or fails.
std::vector<Path> draw_figures(const FigureOptions& options, Log& log);

}  // namespace saddle::analysis
