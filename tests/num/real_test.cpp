// The float and double functions against those of the C library.
#include "num/real.h"

#include <gtest/gtest.h>

#include <limits>

#include "num/number_types.h"
#include "num/wide.h"
#include "support/difference.h"

namespace saddle::num {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr double kInfD = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kNanD = std::numeric_limits<double>::quiet_NaN();

// The distance in units in the last place of the expected number.
template <class T>
double ulps(T found, long double expected) {
  const auto rounded = static_cast<T>(expected);
  const T unit =
      std::nextafter(std::abs(rounded), std::numeric_limits<T>::infinity()) - std::abs(rounded);
  return static_cast<double>(std::abs(static_cast<long double>(found) - expected) / unit);
}

// The rounding of the polynomial: its last steps compute 1 + r (1 + ...) with two roundings of half
// a unit of a number between 0.7 and 1.42, which is one unit below 1; the error of r (1e-8 of r)
// adds slightly.
constexpr double kExpUlps = 2;

TEST(Exp, FloatIsWithinTwoUlpsOverItsRange) {
  double worst = 0;
  for (double x = -86.9; x < 88.7; x += 0.000637) {
    const auto at = static_cast<float>(x);
    worst = std::max(worst, or_infinity(ulps(exp(at), std::exp(static_cast<long double>(at)))));
  }
  EXPECT_LE(worst, kExpUlps);
}

TEST(Exp, DoubleIsWithinTwoUlpsOverItsRange) {
  double worst = 0;
  for (double x = -708.0; x < 709.7; x += 0.00437) {
    worst = std::max(worst, or_infinity(ulps(exp(x), std::exp(static_cast<long double>(x)))));
  }
  EXPECT_LE(worst, kExpUlps);
}

TEST(Exp, SmallArgumentsKeepTheirDigits) {
  for (double x = 1e-8; x < 1; x *= 1.7) {
    for (const double at : {x, -x}) {
      EXPECT_LE(ulps(exp(at), std::exp(static_cast<long double>(at))), kExpUlps) << at;
      const auto single = static_cast<float>(at);
      EXPECT_LE(ulps(exp(single), std::exp(static_cast<long double>(single))), kExpUlps) << at;
    }
  }
  EXPECT_EQ(exp(0.0f), 1.0f);
  EXPECT_EQ(exp(-0.0), 1.0);
}

// Near the smallest normal number the result is zero or correct, never negative or large.
TEST(Exp, UnderflowsToZero) {
  for (float x = -110.0f; x < -86.0f; x += 0.013f) {
    const float found = exp(x);
    EXPECT_TRUE(found == 0.0f || ulps(found, std::exp(static_cast<long double>(x))) <= kExpUlps)
        << x;
    if (x < -87.4f) {
      EXPECT_EQ(found, 0.0f) << x;
    }
  }
  for (double x = -760.0; x < -707.0; x += 0.037) {
    const double found = exp(x);
    EXPECT_TRUE(found == 0.0 || ulps(found, std::exp(static_cast<long double>(x))) <= kExpUlps)
        << x;
    if (x < -708.4) {
      EXPECT_EQ(found, 0.0) << x;
    }
  }
  for (const float x : {-1e3f, -1e10f, -3e38f, -kInf}) EXPECT_EQ(exp(x), 0.0f);
  for (const double x : {-1e3, -1e10, -1e308, -kInfD}) EXPECT_EQ(exp(x), 0.0);
}

TEST(Exp, OverflowsToInfinity) {
  EXPECT_TRUE(std::isfinite(exp(88.72f)));  // ln of the largest float is 88.7228
  for (const float x : {88.73f, 89.0f, 1e3f, 3e38f, kInf}) EXPECT_EQ(exp(x), kInf) << x;
  EXPECT_TRUE(std::isfinite(exp(709.78)));  // ln of the largest double is 709.7827
  for (const double x : {709.79, 710.0, 1e3, 1e308, kInfD}) EXPECT_EQ(exp(x), kInfD) << x;
}

TEST(Functions, GiveNanForNan) {
  for (const float x : {kNan, -kNan}) {
    EXPECT_TRUE(std::isnan(exp(x)));
    EXPECT_TRUE(std::isnan(log(x)));
    EXPECT_TRUE(std::isnan(sqrt(x)));
    EXPECT_TRUE(std::isnan(rsqrt(x)));
    EXPECT_TRUE(std::isnan(sigmoid(x)));
  }
  for (const double x : {kNanD, -kNanD}) {
    EXPECT_TRUE(std::isnan(exp(x)));
    EXPECT_TRUE(std::isnan(log(x)));
    EXPECT_TRUE(std::isnan(sqrt(x)));
    EXPECT_TRUE(std::isnan(rsqrt(x)));
    EXPECT_TRUE(std::isnan(sigmoid(x)));
  }
}

TEST(Functions, AtTheEndsOfTheirRanges) {
  EXPECT_EQ(log(0.0f), -kInf);
  EXPECT_EQ(log(kInfD), kInfD);
  EXPECT_TRUE(std::isnan(log(-1.0f)));
  EXPECT_TRUE(std::isnan(sqrt(-1.0)));
  EXPECT_EQ(sqrt(kInf), kInf);
  EXPECT_EQ(rsqrt(0.0f), kInf);
  EXPECT_EQ(rsqrt(kInfD), 0.0);
  EXPECT_EQ(sigmoid(kInf), 1.0f);
  EXPECT_EQ(sigmoid(-kInf), 0.0f);
  EXPECT_EQ(sigmoid(1000.0), 1.0);
  EXPECT_EQ(sigmoid(-1000.0), 0.0);
  EXPECT_EQ(sigmoid(0.0f), 0.5f);
}

// Two ulps of exp, and one rounding each of the sum and the quotient.
TEST(Sigmoid, IsWithinFourUlps) {
  for (double x = -86.0; x < 86.0; x += 0.0137) {
    const auto single = static_cast<float>(x);
    EXPECT_LE(ulps(sigmoid(single), 1.0L / (1.0L + std::exp(-static_cast<long double>(single)))), 4)
        << x;
    EXPECT_LE(ulps(sigmoid(x), 1.0L / (1.0L + std::exp(-static_cast<long double>(x)))), 4) << x;
  }
}

// A correctly rounded square root and a correctly rounded quotient: one and a half units.
TEST(Rsqrt, IsWithinTwoUlps) {
  for (double x = 1e-30; x < 1e30; x *= 1.37) {
    const auto single = static_cast<float>(x);
    EXPECT_LE(ulps(rsqrt(single), 1.0L / std::sqrt(static_cast<long double>(single))), 2) << x;
    EXPECT_LE(ulps(rsqrt(x), 1.0L / std::sqrt(static_cast<long double>(x))), 2) << x;
  }
}

TEST(Wide, CarriesEveryPlane) {
  static_assert(std::is_same_v<Wide<float>, double>);
  static_assert(std::is_same_v<Wide<Jet<float>>, Jet<double>>);
  static_assert(std::is_same_v<Wide<Dual<double>>, Dual<double>>);
  const auto jet = convert<Jet<double>>(Jet<float>(1.5f, -2.0f, 3.25f));
  EXPECT_EQ(jet.v, 1.5);
  EXPECT_EQ(jet.d, -2.0);
  EXPECT_EQ(jet.dd, 3.25);
  const auto dual = convert<Dual<float>>(Dual<double>(0.1, 0.2));
  EXPECT_EQ(dual.v, 0.1f);
  EXPECT_EQ(dual.t, 0.2f);
}

}  // namespace
}  // namespace saddle::num
