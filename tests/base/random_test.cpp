#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <vector>

#include "support/expect_error.h"

namespace saddle {
namespace {

using Words = std::array<uint32_t, 4>;

constexpr int64_t kDraws = 200000;
// A mean of n numbers with standard deviation s lies within 5 s / sqrt(n), except in one case in
// two million. The seeds are fixed, so a test that passes keeps passing.
double tolerance(double deviation) {
  return 5 * deviation / std::sqrt(double{kDraws});
}

TEST(Philox, GivesTheKnownAnswers) {
  // From the file of known answers of the authors' library, Random123.
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32_10({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, UsesTheDocumentedKeyAndCounter) {
  const uint64_t seed = 0x1122334455667788;
  const uint64_t index = 0x99aabbccddeeff00;
  const Words words = philox4x32_10({0xddeeff00, 0x99aabbcc, 7, 1000}, {0x55667788, 0x11223344});
  const uint64_t bits = words[0] | (uint64_t{words[1]} << 32);
  const RandomStream stream(seed, RandomPurpose::kTest, 7);
  EXPECT_EQ(stream.bits(index), bits);
  EXPECT_EQ(stream.uniform(index), std::ldexp(static_cast<double>(bits >> 11), -53));

  const Words key = philox4x32_10({3, 0, 0, 0}, {0x55667788, 0x11223344});
  const Words high = philox4x32_10({5, 0, 7, 1000}, {key[0], key[1]});
  const RandomStream high_stream(seed, RandomPurpose::kTest, (uint64_t{3} << 32) | 7);
  EXPECT_EQ(high_stream.bits(5), high[0] | (uint64_t{high[1]} << 32));
}

TEST(RandomStream, SeedsPurposesStreamsAndIndicesDiffer) {
  std::set<uint64_t> seen;
  size_t count = 0;
  for (const uint64_t seed : {0ull, 1ull, 1ull << 32, ~0ull}) {
    for (const auto purpose : {RandomPurpose::kInitialWeights, RandomPurpose::kTest}) {
      for (const uint64_t stream : {0ull, 1ull, 1ull << 32, (1ull << 32) + 1, 1ull << 48, ~0ull}) {
        for (const uint64_t index : {0ull, 1ull, 1ull << 32, ~0ull}) {
          seen.insert(RandomStream(seed, purpose, stream).bits(index));
          ++count;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), count);
}

TEST(RandomStream, UniformNumbersHaveTheirMoments) {
  const RandomStream stream(42, RandomPurpose::kTest);
  double sum = 0;
  double squares = 0;
  double neighbours = 0;
  for (int64_t i = 0; i < kDraws; ++i) {
    const double x = stream.uniform(static_cast<uint64_t>(i));
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    sum += x;
    squares += (x - 0.5) * (x - 0.5);
    neighbours += (x - 0.5) * (stream.uniform(static_cast<uint64_t>(i + 1)) - 0.5);
  }
  EXPECT_NEAR(sum / kDraws, 0.5, tolerance(std::sqrt(1.0 / 12)));
  // The fourth central moment is 1/80, so (x - 1/2)^2 has variance 1/80 - 1/144 = 1/180.
  EXPECT_NEAR(squares / kDraws, 1.0 / 12, tolerance(std::sqrt(1.0 / 180)));
  EXPECT_NEAR(neighbours / kDraws, 0.0, tolerance(1.0 / 12));
}

TEST(RandomStream, NormalNumbersHaveTheirMoments) {
  const RandomStream stream(42, RandomPurpose::kTest, 1);
  std::array<double, 4> powers{};
  int64_t within_one = 0;
  for (int64_t i = 0; i < kDraws; ++i) {
    const double x = stream.normal(static_cast<uint64_t>(i));
    ASSERT_TRUE(std::isfinite(x));
    within_one += std::fabs(x) < 1 ? 1 : 0;
    for (size_t p = 0; p < 4; ++p) powers[p] += std::pow(x, static_cast<double>(p + 1));
  }
  // The power p has variance m(2p) - m(p)^2 with the even moments 1, 3, 15, 105 of a normal.
  EXPECT_NEAR(powers[0] / kDraws, 0, tolerance(1));
  EXPECT_NEAR(powers[1] / kDraws, 1, tolerance(std::sqrt(2.0)));
  EXPECT_NEAR(powers[2] / kDraws, 0, tolerance(std::sqrt(15.0)));
  EXPECT_NEAR(powers[3] / kDraws, 3, tolerance(std::sqrt(96.0)));
  EXPECT_NEAR(static_cast<double>(within_one) / kDraws, std::erf(std::sqrt(0.5)), tolerance(0.5));
}

TEST(RandomStream, SignsAreBalanced) {
  const RandomStream stream(42, RandomPurpose::kDirection);
  double sum = 0;
  double neighbours = 0;
  for (int64_t i = 0; i < kDraws; ++i) {
    const double x = stream.rademacher(static_cast<uint64_t>(i));
    ASSERT_EQ(std::fabs(x), 1.0);
    sum += x;
    neighbours += x * stream.rademacher(static_cast<uint64_t>(i + 1));
  }
  EXPECT_NEAR(sum / kDraws, 0, tolerance(1));
  EXPECT_NEAR(neighbours / kDraws, 0, tolerance(1));
}

TEST(RandomStream, NumbersBelowABoundAreEvenlySpread) {
  const RandomStream stream(42, RandomPurpose::kTest, 2);
  for (const uint64_t bound : {1ull, 2ull, 3ull, 10ull, 1000ull}) {
    std::vector<int64_t> counts(bound);
    for (int64_t i = 0; i < kDraws; ++i) {
      const uint64_t x = stream.below(static_cast<uint64_t>(i), bound);
      ASSERT_LT(x, bound);
      ++counts[x];
    }
    // Chi-square with bound - 1 degrees of freedom: mean bound - 1, variance 2 (bound - 1).
    const double expected = static_cast<double>(kDraws) / static_cast<double>(bound);
    double chi_square = 0;
    for (const int64_t count : counts) {
      const double difference = static_cast<double>(count) - expected;
      chi_square += difference * difference / expected;
    }
    const auto freedom = static_cast<double>(bound - 1);
    EXPECT_NEAR(chi_square, freedom, 5 * std::sqrt(2 * freedom)) << bound;
  }
}

TEST(RandomStream, LargeBoundsAreEvenlySpread) {
  // With this bound every fourth draw is refused. Without that, the multiples of 3 would get two of
  // every four draws: half of the numbers.
  const uint64_t bound = uint64_t{3} << 62;
  const RandomStream stream(42, RandomPurpose::kTest, 3);
  double multiples = 0;
  double mean = 0;
  for (int64_t i = 0; i < kDraws; ++i) {
    const uint64_t x = stream.below(static_cast<uint64_t>(i), bound);
    ASSERT_LT(x, bound);
    multiples += x % 3 == 0 ? 1 : 0;
    mean += std::ldexp(static_cast<double>(x) / 3, -62);
  }
  EXPECT_NEAR(multiples / kDraws, 1.0 / 3, tolerance(std::sqrt(2.0) / 3));
  EXPECT_NEAR(mean / kDraws, 0.5, tolerance(std::sqrt(1.0 / 12)));
}

TEST(RandomStream, BoundsAtTheEdges) {
  const RandomStream stream(42, RandomPurpose::kTest, 4);
  for (uint64_t i = 0; i < 1000; ++i) {
    // The bound just over 2^63 refuses nearly every second draw.
    const uint64_t half = (uint64_t{1} << 63) + 1;
    ASSERT_LT(stream.below(i, half), half);
    ASSERT_LT(stream.below(i, ~uint64_t{0}), ~uint64_t{0});
  }
  expect_error(ErrorKind::kInternal, {"below 0"}, [&] { stream.below(0, 0); });
}

TEST(RandomPermutation, ContainsEveryNumberOnce) {
  const RandomStream stream(42, RandomPurpose::kSequenceOrder);
  for (const int64_t count : {0, 1, 2, 3, 1000, 100003}) {
    std::vector<int64_t> order = random_permutation(stream, count);
    EXPECT_EQ(order, random_permutation(stream, count));
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order.size(), static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(order[static_cast<size_t>(i)], i);
  }
  EXPECT_THROW(random_permutation(stream, -1), Error);
}

// Runs made before would continue with other data if the draws were used differently. Computed by
// an independent program.
TEST(RandomPermutation, KeepsItsOrderForever) {
  EXPECT_EQ(random_permutation(RandomStream(42, RandomPurpose::kSequenceOrder), 10),
            (std::vector<int64_t>{2, 1, 5, 7, 0, 9, 6, 4, 8, 3}));
}

TEST(RandomPermutation, DrawsEveryOrderEquallyOften) {
  constexpr int kTrials = 24000;
  std::map<std::vector<int64_t>, int> counts;
  for (uint64_t i = 0; i < kTrials; ++i) {
    ++counts[random_permutation(RandomStream(42, RandomPurpose::kTest, i), 4)];
  }
  EXPECT_EQ(counts.size(), 24);
  // Each order comes 1000 times with a standard deviation of sqrt(24000 * 1/24 * 23/24) = 31.
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 5 * 31);
}

}  // namespace
}  // namespace saddle
