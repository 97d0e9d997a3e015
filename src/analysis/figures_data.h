// The numbers in the figures.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/figures_spectrum.h"
#include "base/files.h"
#include "base/json.h"

namespace saddle::analysis {

// One case; NaN for a missing value.
struct FigurePoint {
  double tokens = 0;
  double normalized_alignment = 0;
  double noise_alignment = 0;
  double random_alignment = 0;
  double gradient_norm = 0;       // of the epoch
  double mean_gradient_norm = 0;  // of the batches
  double mean_noise_norm = 0;
};

struct FigureSeries {
  std::vector<FigurePoint> points;  // by tokens, ascending
  int64_t not_positive = 0;         // normalized alignments that are not positive
};

struct FigureData {
  FigureSeries seen, unseen;
  std::vector<std::pair<double, double>> training;  // tokens and logged gradient norm
  int64_t without_tokens = 0;                       // omitted cases
  SpectrumFigures spectrum{};                       // empty if no eigenvalues were measured
};

// `cases`: ResultsDirectory::cases().
FigureData figure_data(const Json& cases);

// Tokens and gradient norms of the train lines of a metrics.jsonl, at most `most` of them: every
// n-th. Lines that are incomplete or have no norm are ignored. Errors: kIo.
std::vector<std::pair<double, double>> training_norms(const Path& metrics, int64_t most);

// Three blocks for gnuplot, separated by two empty lines: seen, unseen, training. Columns of the
// first two: tokens, normalized alignment, its positive values only, noise alignment, random
// alignment, gradient norm, mean gradient norm, mean noise norm; of the last: tokens, norm. A
// missing value is NaN, an empty block one line of NaN. If eigenvalues were measured, the blocks of
// spectrum_data_text() follow.
std::string figure_data_text(const FigureData& data);

}  // namespace saddle::analysis
