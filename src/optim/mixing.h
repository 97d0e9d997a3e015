// With whom the workers mix their parameters, and how strongly (docs/math/mixing.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/settings.h"
#include "ops/mixing.h"

namespace saddle::optim {

// The mixing matrix W [N, N] of update number `update`, counted from 0, row after row. Rows and
// columns sum to 1, so the mean of the workers stays.
//   complete              every entry 1/N
//   one_peer_ring         1/2 self, 1/2 the left neighbour i - 1 (cyclic) at even updates, the
//                         right one i + 1 at odd updates
//   one_peer_exponential  1/2 self, 1/2 the worker i + 2^(update mod ceil(log2 N)) (cyclic)
// One worker mixes nothing: [1].
std::vector<double> mixing_matrix(config::Topology topology, int64_t workers, int64_t update);

// Adaptive consensus: W' = gamma W + (1 - gamma) I, in place. With gamma = 1 the bits stay.
void weaken(double gamma, int64_t workers, std::vector<double>& matrix);

// The mixing of update number `update`, counted from 0; of one worker none.
ops::Mixing mixing_of_update(const config::DecentralizedSettings& settings, int64_t update,
                             double gamma);

// The gamma of adaptive consensus: 1 before update ceil(start_frac * updates), counted from 0; from
// there (rate / largest)^p, with the largest rate of all updates from there on.
class AdaptiveConsensus {
 public:
  // gamma = 1 always.
  AdaptiveConsensus() = default;

  // `rates`: the learning rates of all updates of the run. Without a start, for p = 0, and when no
  // update is active, gamma stays 1. Otherwise a largest active rate of 0 is an Error of kind
  // kConfig.
  AdaptiveConsensus(const config::AdaptiveConsensusSettings& settings,
                    std::span<const double> rates);

  // Of update number `update`, counted from 0, whose learning rate is `rate`.
  double gamma(int64_t update, double rate) const;

 private:
  bool active_ = false;  // at some update
  int64_t start_ = 0;
  double largest_ = 0;
  double exponent_ = 1;
};

}  // namespace saddle::optim
