#include "optim/mixing.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"

namespace saddle::optim {
namespace {

// The distance from a worker to its one peer, counted upwards (cyclic).
int64_t peer_offset(config::Topology topology, int64_t workers, int64_t update) {
  if (topology == config::Topology::kOnePeerRing) return update % 2 == 0 ? workers - 1 : 1;
  // ceil(log2 N) = the bits of N - 1.
  const int cycle = std::bit_width(static_cast<uint64_t>(workers - 1));
  return int64_t{1} << (update % cycle);
}

}  // namespace

std::vector<double> mixing_matrix(config::Topology topology, int64_t workers, int64_t update) {
  const auto size = static_cast<size_t>(workers * workers);
  if (workers == 1) return {1.0};
  if (topology == config::Topology::kComplete) {
    return std::vector<double>(size, 1.0 / static_cast<double>(workers));
  }
  std::vector<double> matrix(size, 0.0);
  const int64_t offset = peer_offset(topology, workers, update);
  for (int64_t i = 0; i < workers; ++i) {
    matrix[static_cast<size_t>(i * workers + i)] = 0.5;
    matrix[static_cast<size_t>(i * workers + (i + offset) % workers)] = 0.5;
  }
  return matrix;
}

void weaken(double gamma, int64_t workers, std::vector<double>& matrix) {
  if (gamma == 1) return;
  for (double& entry : matrix) entry *= gamma;
  for (int64_t i = 0; i < workers; ++i) {
    matrix[static_cast<size_t>(i * workers + i)] += 1.0 - gamma;
  }
}

ops::Mixing mixing_of_update(const config::DecentralizedSettings& settings, int64_t update,
                             double gamma) {
  if (settings.num_models == 1) return {};
  ops::Mixing mixing;
  mixing.matrix = mixing_matrix(settings.topology, settings.num_models, update);
  weaken(gamma, settings.num_models, mixing.matrix);
  mixing.order = settings.scheme == config::Scheme::kAdaptWhileCombine
                     ? ops::Mixing::Order::kBeforeStep
                     : ops::Mixing::Order::kAfterStep;
  return mixing;
}

AdaptiveConsensus::AdaptiveConsensus(const config::AdaptiveConsensusSettings& settings,
                                     std::span<const double> rates) {
  if (!settings.start_frac || settings.p == 0.0) return;
  const auto total = static_cast<double>(rates.size());
  start_ = static_cast<int64_t>(std::ceil(*settings.start_frac * total));
  const auto window = rates.subspan(std::min(static_cast<size_t>(start_), rates.size()));
  if (window.empty()) return;
  active_ = true;
  exponent_ = settings.p.value_or(1.0);
  largest_ = *std::ranges::max_element(window);
  if (largest_ > 0) return;
  fail(ErrorKind::kConfig,
       "decentralized.adaptive_consensus divides by the largest learning rate from update {} of {} "
       "on (start_frac {}), which is {}: choose a smaller start_frac, or p 0",
       start_ + 1, rates.size(), *settings.start_frac, largest_);
}

double AdaptiveConsensus::gamma(int64_t update, double rate) const {
  return active_ && update >= start_ ? std::pow(rate / largest_, exponent_) : 1.0;
}

}  // namespace saddle::optim
