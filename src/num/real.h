// Elementary functions of float and double. exp is a branch-free polynomial so that loops over it
// vectorize; a call to the C library would prevent that.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace saddle::num {

// exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln(2) / 2, where the Taylor series of
// degree 7 (float) or 13 (double) has a relative error below 6e-9 or 5e-18. Results below the
// smallest normal number (times 2) are 0. NaN gives NaN.
// The code computes 2^(n - 1) times the series of 2 exp(r), because 2^128 is not a float. The bits
// of 2^(n - 1) are n + 126 in the exponent field; adding 1.5 * 2^23 to the float n + 126 moves the
// integer into its lowest bits, without a conversion (which NaN would not survive).
constexpr float exp(float x) {
  constexpr float kLowest = -87.3f;  // here n = -126, and 2^(n - 1) is stored as 0
  constexpr float kHighest = 89.0f;  // beyond the range of float: infinity
  const float below = x > kHighest ? kHighest : x;
  const float c = x < kLowest ? kLowest : below;
  const float n = std::rint(c * 1.44269504088896341f);
  // ln 2 in two parts; the first has trailing zeros, so that n times it is exact.
  const float r = std::fma(n, 2.12194440e-4f, std::fma(n, -0.693359375f, c));
  float p = 2.0f / 5040.0f;
  p = p * r + 2.0f / 720.0f;
  p = p * r + 2.0f / 120.0f;
  p = p * r + 2.0f / 24.0f;
  p = p * r + 2.0f / 6.0f;
  p = p * r + 1.0f;
  p = p * r + 2.0f;
  p = p * r + 2.0f;
  const auto exponent = std::bit_cast<uint32_t>(n + (0x1.8p23f + 126.0f));
  return p * std::bit_cast<float>(exponent << 23);
}

constexpr double exp(double x) {
  constexpr double kLowest = -708.3;
  constexpr double kHighest = 710.0;
  const double below = x > kHighest ? kHighest : x;
  const double c = x < kLowest ? kLowest : below;
  const double n = std::rint(c * 1.44269504088896340736);
  // ln 2 in two parts; the first has trailing zeros, so that n times it is exact.
  const double r =
      std::fma(n, -1.90821492927058770002e-10, std::fma(n, -6.93147180369123816490e-01, c));
  double p = 2.0 / 6227020800.0;
  p = p * r + 2.0 / 479001600.0;
  p = p * r + 2.0 / 39916800.0;
  p = p * r + 2.0 / 3628800.0;
  p = p * r + 2.0 / 362880.0;
  p = p * r + 2.0 / 40320.0;
  p = p * r + 2.0 / 5040.0;
  p = p * r + 2.0 / 720.0;
  p = p * r + 2.0 / 120.0;
  p = p * r + 2.0 / 24.0;
  p = p * r + 2.0 / 6.0;
  p = p * r + 1.0;
  p = p * r + 2.0;
  p = p * r + 2.0;
  const auto exponent = std::bit_cast<uint64_t>(n + (0x1.8p52 + 1022.0));
  return p * std::bit_cast<double>(exponent << 52);
}

constexpr float log(float x) {
  return std::log(x);
}
constexpr double log(double x) {
  return std::log(x);
}
constexpr float sqrt(float x) {
  return std::sqrt(x);
}
constexpr double sqrt(double x) {
  return std::sqrt(x);
}
constexpr float rsqrt(float x) {
  return 1.0f / std::sqrt(x);
}
constexpr double rsqrt(double x) {
  return 1.0 / std::sqrt(x);
}
constexpr float sigmoid(float x) {
  return 1.0f / (1.0f + exp(-x));
}
constexpr double sigmoid(double x) {
  return 1.0 / (1.0 + exp(-x));
}

}  // namespace saddle::num
