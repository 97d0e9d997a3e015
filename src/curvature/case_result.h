// The results of one checkpoint on one data case, sample by sample.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "curvature/spectrum.h"

namespace saddle::curvature {

struct DirectionResult {
  double quadratic_form = 0;  // v'Hv
  double squared_norm = 0;    // |v|^2
};

// v = gradient of one optimizer batch - gradient of the epoch.
struct NoiseResult : DirectionResult {
  int64_t batch = 0;         // which optimizer batch of the epoch
  int64_t worker = 0;        // the owner of a local batch; 0 in an ordinary run
  int64_t targets = 0;       // of that batch
  double loss = 0;           // its mean, nats
  double gradient_norm = 0;  // |gradient of the batch|
};

// A direction given by the user, a difference of checkpoints, or a worker's consensus error.
struct NamedResult : DirectionResult {
  std::string name;
};

struct CaseResult {
  int64_t blocks = 0;        // sequences of the epoch
  int64_t targets = 0;       // of the epoch
  double loss = 0;           // mean over the epoch, nats
  double gradient_norm = 0;  // of the epoch's gradient
  int64_t parameters = 0;    // D
  std::vector<NoiseResult> noise;
  std::vector<DirectionResult> random;
  std::vector<NamedResult> own;
  std::vector<NamedResult> consensus;
  std::optional<SpectrumResult> spectrum;  // if it was requested

  // sum v'Hv / S over the noise samples; nothing without samples.
  std::optional<double> noise_alignment() const;
  // sum v'Hv / sum |v|^2 over the noise samples; nothing if the denominator is 0.
  std::optional<double> normalized_alignment() const;
  std::optional<double> mean_noise_norm() const;     // mean |v|
  std::optional<double> mean_gradient_norm() const;  // mean |gradient of a batch|
  // sum s'Hs / (D S) over the random samples.
  std::optional<double> random_alignment() const;
};

}  // namespace saddle::curvature
