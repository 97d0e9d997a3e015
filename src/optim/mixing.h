// Which workers mix their parameters, and how strongly (docs/math/mixing.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/settings.h"
#include "ops/mixing.h"

namespace saddle::optim {

// The mixing matrix W [N, N] of update number `update`, counted from 0, row after row. Rows and
// columns sum to 1, so the mean of the workers is preserved.
//   complete              every entry 1/N
//   one_peer_ring         1/2 self, 1/2 the left neighbour i - 1 (cyclic) at even updates, the
//                         right one i + 1 at odd updates
//   one_peer_exponential  1/2 self, 1/2 the worker i + 2^(update mod ceil(log2 N)) (cyclic)
// For one worker: [1].
std::vector<double> mixing_matrix(config::Topology topology, int64_t workers, int64_t update);

// Adaptive consensus: W' = gamma W + (1 - gamma) I, in place. With gamma = 1 no bit changes.
void weaken(double gamma, int64_t workers, std::vector<double>& matrix);

// The mixing of update number `update`, counted from 0; empty for one worker.
ops::Mixing mixing_of_update(const config::DecentralizedSettings& settings, int64_t update,
                             double gamma);

// The gamma of adaptive consensus: 1 before update ceil(start_frac * updates), counted from 0; from
// then on (rate / largest)^p, with the largest rate of all updates from then on.
class AdaptiveConsensus {
 public:
  // gamma is always 1.
  AdaptiveConsensus() = default;

  // `rates`: the learning rates of all updates of the run. Without a start, for p = 0, and if no
  // update is active, gamma stays 1. Error: kConfig otherwise if the largest active rate is 0.
  AdaptiveConsensus(const config::AdaptiveConsensusSettings& settings,
                    std::span<const double> rates);

  // The gamma of update number `update`, counted from 0, whose learning rate is `rate`.
  double gamma(int64_t update, double rate) const;

 private:
  bool active_ = false;  // for at least one update
  int64_t start_ = 0;
  double largest_ = 0;
  double exponent_ = 1;
};

}  // namespace saddle::optim
