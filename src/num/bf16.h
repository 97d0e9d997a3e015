// bfloat16: the upper half of a float, rounded to nearest, ties to even. A number of tensors that
// are inputs of products under bf16 autocast: it is only stored, and computed with as float.
#pragma once

#include <bit>
#include <cstdint>

#include "num/number.h"

namespace saddle::num {

// The bits of the bfloat16 nearest to x. Infinity stays, NaN stays NaN (made quiet).
constexpr uint16_t bf16_bits(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const uint32_t quiet_nan = bits | 0x00400000u;
  return static_cast<uint16_t>(((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded) >> 16);
}

class Bf16 {
 public:
  constexpr Bf16() = default;
  constexpr explicit Bf16(float x) : bits_(bf16_bits(x)) {}
  constexpr operator float() const {  // NOLINT: exact
    return std::bit_cast<float>(static_cast<uint32_t>(bits_) << 16);
  }

 private:
  uint16_t bits_ = 0;
};

template <>
struct ArithmeticOf<Bf16> {
  using Type = float;
};

// The bfloat16 nearest to x, as a float.
constexpr float round_to_bf16(float x) {
  return Bf16(x);
}

}  // namespace saddle::num
