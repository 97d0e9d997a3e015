#include "optim/mixing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "optim/schedule.h"
#include "support/expect_error.h"

namespace saddle::optim {
namespace {

using config::Scheme;
using config::Topology;
using Matrix = std::vector<double>;

// A matrix with 1/2 on the diagonal and 1/2 in column peers[i] of row i.
Matrix halves(const std::vector<int>& peers) {
  const size_t n = peers.size();
  Matrix matrix(n * n, 0.0);
  for (size_t i = 0; i < n; ++i) {
    matrix[i * n + i] += 0.5;
    matrix[i * n + static_cast<size_t>(peers[i])] += 0.5;
  }
  return matrix;
}

TEST(MixingMatrix, OneWorkerMixesNothing) {
  for (const Topology topology :
       {Topology::kComplete, Topology::kOnePeerRing, Topology::kOnePeerExponential}) {
    for (int64_t update = 0; update < 4; ++update) {
      EXPECT_EQ(mixing_matrix(topology, 1, update), Matrix{1.0});
    }
  }
}

TEST(MixingMatrix, Complete) {
  for (const int64_t n : {2, 3, 4, 5, 8}) {
    const Matrix expected(static_cast<size_t>(n * n), 1.0 / static_cast<double>(n));
    for (int64_t update = 0; update < 4; ++update) {
      EXPECT_EQ(mixing_matrix(Topology::kComplete, n, update), expected);
    }
  }
}

// The peers of workers 0, 1, ... at updates 0, 1, ..., written out.
struct Peers {
  Topology topology;
  std::vector<std::vector<int>> of_updates;
};

TEST(MixingMatrix, OnePeerTopologiesEntryByEntry) {
  const std::vector<Peers> cases = {
      {Topology::kOnePeerRing, {{1, 0}, {1, 0}, {1, 0}}},
      {Topology::kOnePeerRing, {{2, 0, 1}, {1, 2, 0}, {2, 0, 1}, {1, 2, 0}}},
      {Topology::kOnePeerRing, {{3, 0, 1, 2}, {1, 2, 3, 0}, {3, 0, 1, 2}}},
      {Topology::kOnePeerRing, {{4, 0, 1, 2, 3}, {1, 2, 3, 4, 0}, {4, 0, 1, 2, 3}}},
      {Topology::kOnePeerRing,
       {{7, 0, 1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6, 7, 0}, {7, 0, 1, 2, 3, 4, 5, 6}}},
      {Topology::kOnePeerExponential, {{1, 0}, {1, 0}, {1, 0}}},
      {Topology::kOnePeerExponential, {{1, 2, 0}, {2, 0, 1}, {1, 2, 0}, {2, 0, 1}}},
      {Topology::kOnePeerExponential, {{1, 2, 3, 0}, {2, 3, 0, 1}, {1, 2, 3, 0}, {2, 3, 0, 1}}},
      {Topology::kOnePeerExponential,
       {{1, 2, 3, 4, 0}, {2, 3, 4, 0, 1}, {4, 0, 1, 2, 3}, {1, 2, 3, 4, 0}}},
      {Topology::kOnePeerExponential,
       {{1, 2, 3, 4, 5, 6, 7, 0},
        {2, 3, 4, 5, 6, 7, 0, 1},
        {4, 5, 6, 7, 0, 1, 2, 3},
        {1, 2, 3, 4, 5, 6, 7, 0}}},
  };
  for (const Peers& peers : cases) {
    for (size_t update = 0; update < peers.of_updates.size(); ++update) {
      const std::vector<int>& row = peers.of_updates[update];
      EXPECT_EQ(mixing_matrix(peers.topology, static_cast<int64_t>(row.size()),
                              static_cast<int64_t>(update)),
                halves(row))
          << config::name(peers.topology) << ", " << row.size() << " workers, update " << update;
    }
  }
}

// After a cycle of one_peer_exponential among 2^k workers every worker has the mean.
TEST(MixingMatrix, ACycleOfOnePeerExponentialAveragesAPowerOfTwo) {
  for (const int64_t n : {2, 4, 8}) {
    std::vector<double> x(static_cast<size_t>(n), 0.0);
    x[0] = static_cast<double>(n);
    for (int64_t update = 0; (int64_t{1} << update) < n; ++update) {
      const Matrix w = mixing_matrix(Topology::kOnePeerExponential, n, update);
      std::vector<double> next(x.size(), 0.0);
      for (size_t i = 0; i < x.size(); ++i) {
        for (size_t j = 0; j < x.size(); ++j) next[i] += w[i * x.size() + j] * x[j];
      }
      x = next;
    }
    EXPECT_EQ(x, std::vector<double>(x.size(), 1.0));
  }
}

TEST(Weaken, AddsAShareOfTheIdentity) {
  Matrix matrix = {0.5, 0.5, 0, 0, 0.5, 0.5, 0.5, 0, 0.5};
  const Matrix whole = matrix;
  weaken(1.0, 3, matrix);
  EXPECT_EQ(matrix, whole);
  weaken(0.25, 3, matrix);
  EXPECT_EQ(matrix, (Matrix{0.875, 0.125, 0, 0, 0.875, 0.125, 0.125, 0, 0.875}));
  weaken(0, 3, matrix);
  EXPECT_EQ(matrix, (Matrix{1, 0, 0, 0, 1, 0, 0, 0, 1}));
}

TEST(MixingOfUpdate, FollowsTheSettings) {
  config::DecentralizedSettings settings;
  settings.topology = Topology::kOnePeerRing;
  EXPECT_TRUE(mixing_of_update(settings, 0, 1).matrix.empty()) << "one worker";
  settings.num_models = 3;
  EXPECT_EQ(mixing_of_update(settings, 1, 1).matrix, halves({1, 2, 0}));
  EXPECT_EQ(mixing_of_update(settings, 1, 1).order, ops::Mixing::Order::kBeforeStep);
  settings.scheme = Scheme::kAdaptThenCombine;
  const ops::Mixing weak = mixing_of_update(settings, 0, 0.5);
  EXPECT_EQ(weak.order, ops::Mixing::Order::kAfterStep);
  EXPECT_EQ(weak.matrix, (Matrix{0.75, 0, 0.25, 0.25, 0.75, 0, 0, 0.25, 0.75}));
}

std::vector<double> gammas(std::optional<double> start_frac, std::optional<double> p,
                           const std::vector<double>& rates) {
  const AdaptiveConsensus consensus({start_frac, p}, rates);
  std::vector<double> values;
  for (size_t i = 0; i < rates.size(); ++i) {
    values.push_back(consensus.gamma(static_cast<int64_t>(i), rates[i]));
  }
  return values;
}

using Values = std::vector<double>;

// Rates that rise to 8 and fall to 0; the expected numbers were computed by hand.
TEST(AdaptiveConsensus, GammaMatchesTheTable) {
  const Values rates = {2, 4, 8, 8, 6, 4, 2, 0};
  const Values ones(8, 1.0);
  EXPECT_EQ(gammas(std::nullopt, std::nullopt, rates), ones);
  EXPECT_EQ(gammas(0.5, 1.0, rates), (Values{1, 1, 1, 1, 1, 4.0 / 6, 2.0 / 6, 0}));
  EXPECT_EQ(gammas(0.5, std::nullopt, rates), (Values{1, 1, 1, 1, 1, 4.0 / 6, 2.0 / 6, 0}));
  EXPECT_EQ(gammas(0.75, 2.0, rates), (Values{1, 1, 1, 1, 1, 1, 1, 0}));
  // Starts during the warmup, before the largest rates: ceil(0.1 * 8) = 1.
  EXPECT_EQ(gammas(0.1, 2.0, rates), (Values{1, 0.25, 1, 1, 0.75 * 0.75, 0.25, 0.0625, 0}));
  EXPECT_EQ(gammas(0.0, 1.0, rates), (Values{0.25, 0.5, 1, 1, 0.75, 0.5, 0.25, 0}));
  EXPECT_EQ(gammas(0.0, 0.0, rates), ones) << "p = 0";
  EXPECT_EQ(gammas(1.0, 1.0, rates), ones) << "no update is active";
  EXPECT_EQ(gammas(0.875, 0.0, rates), ones) << "p = 0 does not divide";
}

TEST(AdaptiveConsensus, RefusesAWindowWithoutARate) {
  expect_error(ErrorKind::kConfig,
               {"largest learning rate from update 8 of 8 on (start_frac 0.875)", "which is 0"},
               [] {
                 gammas(0.875, 1.0, {2, 4, 8, 8, 6, 4, 2, 0});
               });
  expect_error(ErrorKind::kConfig, {"from update 1 of 2"}, [] { gammas(0.0, 1.0, {0, 0}); });
}

// The gamma of a run of 100 updates against an independent formula of its schedule.
TEST(AdaptiveConsensus, FollowsTheScheduleOfARun) {
  config::OptimizerSettings settings;
  settings.lr = 0.008;
  settings.warmup_fraction = 0.2;
  Values rates;
  for (int64_t t = 1; t <= 100; ++t) rates.push_back(learning_rate(settings, t * 512, 51200));
  const Values late = gammas(0.5, 1.5, rates);
  const Values early = gammas(0.1, 1.5, rates);
  const auto cosine = [](int t) {
    return 0.1 + 0.9 * 0.5 * (1 + std::cos(std::acos(-1.0) * (t - 20) / 80.0));
  };
  // A few roundings of numbers of order 1.
  for (int t = 1; t <= 100; ++t) {
    const auto i = static_cast<size_t>(t - 1);
    const double share = t < 20 ? t / 20.0 : cosine(t);
    EXPECT_NEAR(early[i], t <= 10 ? 1 : std::pow(share, 1.5), 1e-14) << t;
    EXPECT_NEAR(late[i], t <= 50 ? 1 : std::pow(share / cosine(51), 1.5), 1e-14) << t;
  }
}

}  // namespace
}  // namespace saddle::optim
