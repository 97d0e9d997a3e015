// Rounding to bfloat16 compared with the distances to the two neighbours.
#include "num/bf16.h"

#include <gtest/gtest.h>

#include <cmath>

namespace saddle::num {
namespace {

float from_bits(uint32_t bits) {
  return std::bit_cast<float>(bits);
}

// The exact value of finite bits. The bits one step beyond the largest finite number count as
// 2^128, the number that they would be without infinity.
double magnitude(uint32_t upper) {
  const int exponent = static_cast<int>(upper >> 7 & 0xff);
  const double fraction = static_cast<double>(upper & 0x7f) / 128;
  return exponent == 0 ? std::ldexp(fraction, -126) : std::ldexp(1 + fraction, exponent - 127);
}

// The upper half that is nearest to a finite x; of two equally near ones the even one.
uint32_t nearest(uint32_t bits) {
  const uint32_t below = bits >> 16 & 0x7fff;
  const double x = std::abs(static_cast<double>(from_bits(bits)));
  const double down = x - magnitude(below);
  const double up = magnitude(below + 1) - x;
  const bool take_up = up < down || (up == down && below % 2 == 1);
  return (bits >> 16 & 0x8000) | (take_up ? below + 1 : below);
}

TEST(RoundToBf16, IsTheNearestForEveryUpperHalf) {
  int64_t wrong = 0;
  for (uint32_t upper = 0; upper <= 0xffff; ++upper) {
    for (const uint32_t lower :
         {0x0000u, 0x0001u, 0x1234u, 0x7fffu, 0x8000u, 0x8001u, 0xfedcu, 0xffffu}) {
      const uint32_t bits = upper << 16 | lower;
      const float x = from_bits(bits);
      const float rounded = round_to_bf16(x);
      const auto found = std::bit_cast<uint32_t>(rounded);
      if (std::isnan(x)) {
        // NaN stays NaN, with its sign and the quiet bit, within the upper half.
        const bool kept = std::isnan(rounded) && (found & 0xffff) == 0 &&
                          (found >> 31) == (bits >> 31) && (found & 0x00400000u) != 0;
        wrong += kept ? 0 : 1;
      } else if (std::isinf(x)) {
        wrong += found == bits ? 0 : 1;
      } else {
        wrong += found == nearest(bits) << 16 ? 0 : 1;
      }
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(RoundToBf16, TiesGoToEven) {
  EXPECT_EQ(round_to_bf16(1.0f + 0x1p-8f), 1.0f);                // between 1 and 1 + 2^-7
  EXPECT_EQ(round_to_bf16(1.0f + 3 * 0x1p-8f), 1.0f + 0x1p-6f);  // between 1 + 2^-7 and 1 + 2^-6
  EXPECT_EQ(round_to_bf16(-(1.0f + 3 * 0x1p-8f)), -1.0f - 0x1p-6f);
  EXPECT_EQ(round_to_bf16(3.4e38f), std::bit_cast<float>(0x7f800000u));  // nearer to 2^128
  EXPECT_EQ(round_to_bf16(0x1p-133f), 0x1p-133f);                        // the smallest subnormal
  EXPECT_EQ(round_to_bf16(0x1p-134f), 0.0f);
}

}  // namespace
}  // namespace saddle::num
