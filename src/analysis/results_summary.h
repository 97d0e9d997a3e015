// The cases of an analysis as tables, for programs and for people.
#pragma once

#include <string>

#include "base/json.h"

namespace saddle::analysis {

// `cases`: contents of case files (results_directory.h). A header line, then one line per case:
//
//   checkpoint (all its names, joined by spaces), epoch, step, tokens, case, blocks, targets, loss,
//   gradient_norm, mean_gradient_norm, mean_noise_norm, noise_samples, noise_alignment,
//   normalized_alignment, random_samples, random_alignment, parameters,
//   largest_eigenvalue
//
// Numbers have the shortest form that reads back as the same number; null values are empty.
std::string summary_csv(const Json& cases);

// The most important numbers of each case, and below them the eigenvalues, if there are any.
std::string summary_text(const Json& cases);

}  // namespace saddle::analysis
