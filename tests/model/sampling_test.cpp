#include "model/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "support/expect_error.h"

namespace saddle::model {
namespace {

// Logits for the probabilities 0.1, 0.4, 0.2, 0.3.
const std::vector<double> kLogits = {std::log(0.1), std::log(0.4), std::log(0.2), std::log(0.3)};

int32_t sample(const SamplingOptions& options, double uniform) {
  return sample_token<double>(kLogits, options, uniform);
}

// The share of [0, 1) for which each token is drawn.
std::map<int32_t, double> shares(const SamplingOptions& options) {
  constexpr int kCount = 10000;
  std::map<int32_t, double> result;
  for (int i = 0; i < kCount; ++i) result[sample(options, (i + 0.5) / kCount)] += 1.0 / kCount;
  return result;
}

void expect_shares(const SamplingOptions& options, const std::map<int32_t, double>& expected) {
  const auto found = shares(options);
  ASSERT_EQ(found.size(), expected.size());
  // The grid of 10,000 points resolves a share to two points.
  for (const auto& [id, share] : expected) EXPECT_NEAR(found.at(id), share, 2e-4) << id;
}

TEST(Sampling, DrawsEveryTokenWithItsProbability) {
  expect_shares({}, {{0, 0.1}, {1, 0.4}, {2, 0.2}, {3, 0.3}});
}

// At temperature 1/2 the new probabilities are proportional to the squares: 1, 16, 4, 9 of 30.
TEST(Sampling, TemperatureSharpens) {
  expect_shares({.temperature = 0.5}, {{0, 1 / 30.}, {1, 16 / 30.}, {2, 4 / 30.}, {3, 9 / 30.}});
}

TEST(Sampling, TemperatureZeroTakesTheFirstOfTheLargest) {
  for (const double uniform : {0.0, 0.5, 0.999}) EXPECT_EQ(sample({.temperature = 0}, uniform), 1);
  const std::vector<float> equal = {1, 3, 3, 2};
  EXPECT_EQ(sample_token<float>(equal, {.temperature = 0}, 0.9), 1);
}

TEST(Sampling, TopKKeepsTheLargest) {
  expect_shares({.top_k = 2}, {{1, 4 / 7.}, {3, 3 / 7.}});
  expect_shares({.top_k = 1}, {{1, 1.0}});
  expect_shares({.top_k = 9}, {{0, 0.1}, {1, 0.4}, {2, 0.2}, {3, 0.3}});
}

// 0.4 + 0.3 is the first sum that reaches 0.6; 0.4 alone reaches 0.3.
TEST(Sampling, TopPKeepsTheSmallestSetThatReachesIt) {
  expect_shares({.top_p = 0.6}, {{1, 4 / 7.}, {3, 3 / 7.}});
  expect_shares({.top_p = 0.3}, {{1, 1.0}});
  expect_shares({.top_k = 3, .top_p = 0.7}, {{1, 4 / 7.}, {3, 3 / 7.}});
}

TEST(Sampling, LargeLogitsDoNotOverflow) {
  const std::vector<float> logits = {-1e30F, 1e30F, 5};
  EXPECT_EQ(sample_token<float>(logits, {}, 0.999999), 1);
}

TEST(Sampling, RefusesInvalidOptionsAndLogits) {
  const std::vector<float> logits = {0, std::numeric_limits<float>::quiet_NaN()};
  expect_error(ErrorKind::kNumeric, {"token 1", "nan"},
               [&] { sample_token<float>(logits, {}, 0); });
  expect_error(ErrorKind::kUsage, {"temperature", "-1"},
               [] { check_sampling({.temperature = -1}); });
  expect_error(ErrorKind::kUsage, {"top-k", "-3"}, [] { check_sampling({.top_k = -3}); });
  expect_error(ErrorKind::kUsage, {"top-p", "0"}, [] { check_sampling({.top_p = 0}); });
  expect_error(ErrorKind::kUsage, {"top-p", "1.5"}, [] { check_sampling({.top_p = 1.5}); });
  check_sampling({});
}

}  // namespace
}  // namespace saddle::model
