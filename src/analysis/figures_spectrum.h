// The numbers in the figures of eigenvalues.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace saddle::analysis {

// The largest eigenvalues of one case, descending.
struct EigenvaluePoint {
  double tokens = 0;
  std::vector<double> values;
};

// The density of a case's eigenvalues: a Gaussian at each node of the quadrature, multiplied by the
// weight of the node and averaged over the start vectors.
struct SpectralDensity {
  std::string checkpoint;  // empty: there is none
  int64_t starts = 0;
  std::vector<std::pair<double, double>> curve;  // eigenvalue, density; only densities >= least
};

struct SpectrumFigures {
  std::vector<EigenvaluePoint> seen, unseen;     // by tokens, ascending
  SpectralDensity seen_density, unseen_density;  // of the last checkpoint that has one
  double deviation = 0;                          // of the Gaussians: 1% of all nodes' range
  double least = 0;                              // half the peak of the lightest node

  bool has_eigenvalues() const { return !seen.empty() || !unseen.empty(); }
  bool has_density() const { return deviation > 0; }
};

// `cases`: ResultsDirectory::cases(). Cases with unknown tokens are omitted. Errors: kData for a
// damaged spectrum.
SpectrumFigures spectrum_figures(const Json& cases);

// Four more blocks of the data file: eigenvalues seen and unseen (tokens, then values descending,
// NaN if a case has fewer), densities seen and unseen (eigenvalue, density).
std::string spectrum_data_text(const SpectrumFigures& figures);

}  // namespace saddle::analysis
