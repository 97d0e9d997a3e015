// The decision about an update: losses, norms, scales and whether everything is finite.
#include "ops/clipping.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "ops/reduce.h"
#include "ops/tensors.h"
#include "support/expect_error.h"
#include "support/test_context.h"

namespace saddle::ops {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Decision {
  std::vector<double> loss, norm, scale;
  double commit = -1;
};

// From each worker's sum of losses, weight and norm.
Decision decide(std::optional<double> clip, const std::vector<double>& sums,
                const std::vector<double>& weights, const std::vector<double>& norms) {
  Context context = test_context(2);
  const auto workers = static_cast<int64_t>(sums.size());
  const UpdateNumbers numbers(context, workers);
  std::vector<double> squares;
  for (const double norm : norms) squares.push_back(norm * norm);
  set_values<double>(context, numbers.loss(), sums);
  set_values<double>(context, numbers.norm(), squares);
  decide_update(context, clip, per_worker(context, weights), numbers);
  const std::vector<double> all = numbers.read(context);
  Decision decision;
  for (size_t n = 0; n < sums.size(); ++n) {
    decision.loss.push_back(all[4 * n]);
    decision.norm.push_back(all[4 * n + 1]);
    decision.scale.push_back(all[4 * n + 2]);
  }
  decision.commit = all[3];
  return decision;
}

double scale_of(double norm, std::optional<double> clip) {
  const Decision decision = decide(clip, {1}, {1}, {norm});
  EXPECT_EQ(decision.commit, 1);
  EXPECT_DOUBLE_EQ(decision.norm[0], norm);
  return decision.scale[0];
}

TEST(DecideUpdate, DividesTheClipByTheNormPlusATinyNumber) {
  EXPECT_EQ(scale_of(0.5, 1.0), 1.0);
  EXPECT_EQ(scale_of(0.0, 1.0), 1.0);
  EXPECT_DOUBLE_EQ(scale_of(4.0, 1.0), 1.0 / 4.000001);
  EXPECT_DOUBLE_EQ(scale_of(1.0, 1.0), 1.0 / 1.000001);
  EXPECT_DOUBLE_EQ(scale_of(10.0, 2.5), 2.5 / 10.000001);
  EXPECT_EQ(scale_of(1e9, std::nullopt), 1.0);
  EXPECT_EQ(scale_of(0.0, std::nullopt), 1.0);
}

TEST(DecideUpdate, GivesEachWorkerItsOwnNumbers) {
  const Decision decision = decide(2.0, {8, -3, 0}, {0.5, 2, 0.25}, {4, 1, 0});
  EXPECT_EQ(decision.loss, (std::vector<double>{4, -6, 0}));
  EXPECT_EQ(decision.norm, (std::vector<double>{4, 1, 0}));
  EXPECT_DOUBLE_EQ(decision.scale[0], 2 / 4.000001);
  EXPECT_EQ(decision.scale[1], 1);
  EXPECT_EQ(decision.scale[2], 1);
  EXPECT_EQ(decision.commit, 1);
}

// One number of one worker that is not finite stops the update of all.
TEST(DecideUpdate, CommitsOnlyIfEverythingIsFinite) {
  for (const std::optional<double> clip : {std::optional(1.0), std::optional<double>()}) {
    for (const double bad : {kNan, kInfinity, -kInfinity}) {
      for (size_t worker = 0; worker < 3; ++worker) {
        std::vector<double> sums = {1, 2, 3}, norms = {1, 2, 3};
        sums[worker] = bad;
        const Decision of_loss = decide(clip, sums, {1, 1, 1}, {1, 2, 3});
        EXPECT_EQ(of_loss.commit, 0) << bad << " loss of " << worker;
        norms[worker] = bad;
        const Decision of_norm = decide(clip, {1, 2, 3}, {1, 1, 1}, norms);
        EXPECT_EQ(of_norm.commit, 0) << bad << " norm of " << worker;
        // The numbers of the others are those of an update without it.
        for (size_t other = 0; other < 3; ++other) {
          if (other == worker) continue;
          EXPECT_EQ(of_loss.loss[other], static_cast<double>(other + 1));
          EXPECT_EQ(of_norm.norm[other], static_cast<double>(other + 1));
          EXPECT_DOUBLE_EQ(of_norm.scale[other],
                           clip ? 1 / (static_cast<double>(other + 1) + 1e-6) : 1);
        }
        EXPECT_FALSE(std::isfinite(of_loss.loss[worker]));
        EXPECT_FALSE(std::isfinite(of_norm.norm[worker]));
      }
    }
  }
}

// A finite sum of losses times its weight may overflow.
TEST(DecideUpdate, SeesAMeanThatIsNotFinite) {
  EXPECT_EQ(decide(1.0, {1e300}, {1e300}, {1}).commit, 0);
  EXPECT_EQ(decide(1.0, {1e300}, {1e-300}, {1}).commit, 1);
}

// The whole way from losses and gradients, in one launch after the sums and one copy to the host.
TEST(DecideUpdate, TakesTheSumsThatReductionsWrite) {
  Context context = test_context(2);
  const auto losses = random_tensor<float>(context, 2, 50, 1, 1);
  const auto gradients = random_tensor<float>(context, 2, 1, 9000, 2);
  const UpdateNumbers numbers(context, 2);
  sum<float>(context, losses.view().row_range(0, 20), numbers.loss());
  add_sum<float>(context, losses.view().row_range(20, 30), numbers.loss());
  sum_of_squares<float>(context, gradients, numbers.norm());
  const int64_t reads = context.counters().host_reads;
  decide_update(context, 1.0, per_worker(context, {0.02, 0.02}), numbers);
  const std::vector<double> all = numbers.read(context);
  EXPECT_EQ(context.counters().host_reads, reads + 1);
  const std::vector<float> x = numbers_of<float>(context, losses);
  const std::vector<float> g = numbers_of<float>(context, gradients);
  for (size_t n = 0; n < 2; ++n) {
    double loss = 0, square = 0;
    for (size_t i = 0; i < 50; ++i) loss += static_cast<double>(x[n * 50 + i]) / 50;
    for (size_t i = 0; i < 9000; ++i) square += std::pow(static_cast<double>(g[n * 9000 + i]), 2);
    // Sums of 50 and 9,000 numbers in double, in another order.
    EXPECT_NEAR(all[4 * n], loss, 1e-15);
    EXPECT_NEAR(all[4 * n + 1], std::sqrt(square), 1e-11);
    EXPECT_NEAR(all[4 * n + 2], 1 / (std::sqrt(square) + 1e-6), 1e-15);
  }
  EXPECT_EQ(all[3], 1);
}

// Norms of the gradients x [N, 1, D] as an update finds them.
Decision decide_for(Context& context, View<const float> x) {
  const int64_t workers = x.workers();
  const UpdateNumbers numbers(context, workers);
  sum_of_squares<float>(context, x, numbers.norm());
  decide_update(context, 1.0, per_worker(context, std::vector<double>(workers, 1.0)), numbers);
  const std::vector<double> all = numbers.read(context);
  Decision decision;
  for (int64_t n = 0; n < workers; ++n) decision.norm.push_back(all[4 * n + 1]);
  decision.commit = all[3];
  return decision;
}

TEST(DecideUpdate, FindsTheNormOfEachWorker) {
  Context context = test_context(1);
  const auto gradients = random_tensor<float>(context, 3, 1, 22, 1);
  const Decision decision = decide_for(context, gradients);
  for (int64_t n = 0; n < 3; ++n) {
    double square = 0;
    for (const double x : numbers_of<float>(context, gradients.view().worker_range(n, 1))) {
      square += x * x;
    }
    // Both sum in double.
    EXPECT_NEAR(decision.norm[n], std::sqrt(square), 1e-14 * std::sqrt(square));
  }
  EXPECT_EQ(decision.commit, 1);
}

// If the squares of a gradient overflow float, its norm is still correct. A number that is not
// finite makes only the norm of its worker not finite.
TEST(DecideUpdate, HandlesLargeAndNonFiniteGradients) {
  Context context = test_context(1);
  const Tensor<float> gradients(context, 3, 1, 7);
  std::vector<float> values(21, 0.0F);
  values[0] = 3e30F;
  set_values<float>(context, gradients.view(), values);
  EXPECT_EQ(decide_for(context, gradients).commit, 1);
  values[7 + 2] = std::numeric_limits<float>::quiet_NaN();
  values[14 + 6] = -std::numeric_limits<float>::infinity();
  set_values<float>(context, gradients.view(), values);
  const Decision decision = decide_for(context, gradients);
  EXPECT_NEAR(decision.norm[0], 3e30, 1e24);
  EXPECT_TRUE(std::isnan(decision.norm[1]));
  EXPECT_TRUE(std::isinf(decision.norm[2]));
  EXPECT_EQ(decision.commit, 0);
}

TEST(DecideUpdate, RefusesWeightsOfOtherWorkers) {
  Context context = test_context(1);
  const UpdateNumbers numbers(context, 2);
  expect_error(ErrorKind::kInternal, {"decide_update", "weights"},
               [&] { decide_update(context, 1.0, per_worker(context, {1}), numbers); });
}

}  // namespace
}  // namespace saddle::ops
