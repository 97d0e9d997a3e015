// Directions brought near the middle of the number type's range, for as long as forms are measured
// along them.
//
// A form vᵀHv is made of products of two tangents. In float32 those of a vector of norm 1e-20
// vanish, those of one of 1e+20 are infinite, though the form itself fits a double. All methods are
// linear in the tangents, so a power of two goes through them without a rounding.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/tensor.h"

namespace saddle::curvature {

template <class T>
class ScaledDirections {
 public:
  // Multiplies each of the first `count` directions [G, D_padded] by a power of two that brings the
  // root mean square of its numbers, padding left out, into [1, 2). Directions that are zero or not
  // finite stay.
  ScaledDirections(backend::Context& context, const backend::Arena<T>& directions, int64_t count);
  // Multiplies them back. They are as before, but for numbers below 2^-125 (float32) of their root
  // mean square, which may have vanished.
  ~ScaledDirections();
  ScaledDirections(const ScaledDirections&) = delete;
  ScaledDirections& operator=(const ScaledDirections&) = delete;

  // The form of direction k as it was, from `form` along it as it is now.
  double form_before(int64_t k, double form) const;

 private:
  void multiply(int64_t k, int exponent) const;

  backend::Context& context_;
  const backend::Arena<T>& directions_;
  std::vector<int> exponents_;  // of the powers of two that directions are multiplied by
};

}  // namespace saddle::curvature
