// Rounding to bfloat16: the upper half of a float, round to nearest, ties to even.
#pragma once

#include <bit>
#include <cstdint>

namespace saddle::num {

// The bfloat16 nearest to x, as a float. Infinity stays, NaN stays NaN (made quiet).
constexpr float round_to_bf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
  const uint32_t quiet_nan = (bits | 0x00400000u) & 0xffff0000u;
  return std::bit_cast<float>((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
}

}  // namespace saddle::num
