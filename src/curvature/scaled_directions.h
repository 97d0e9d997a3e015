// Scales directions to the middle of the number type's range while forms are measured along them.
//
// A form vᵀHv consists of products of two tangents. In float32 these vanish for a vector of norm
// 1e-20 and are infinite for one of norm 1e+20, although the form itself fits into a double.
// Tangents propagate linearly, so a power of two passes through all methods without rounding.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/tensor.h"

namespace saddle::curvature {

template <class T>
class ScaledDirections {
 public:
  // Multiplies each of the first `count` directions [G, D_padded] by a power of two that brings the
  // root mean square of its numbers, without padding, into [1, 2). Directions that are zero or not
  // finite do not change.
  ScaledDirections(backend::Context& context, const backend::Arena<T>& directions, int64_t count);
  // Scales them back. They are as before, except that numbers below 2^-125 (float32) of their root
  // mean square may have vanished.
  ~ScaledDirections();
  ScaledDirections(const ScaledDirections&) = delete;
  ScaledDirections& operator=(const ScaledDirections&) = delete;

  // The form of the original direction k, from `form` along the scaled one.
  double form_before(int64_t k, double form) const;

 private:
  void multiply(int64_t k, int exponent) const;

  backend::Context& context_;
  const backend::Arena<T>& directions_;
  std::vector<int> exponents_;  // of the powers of two that directions are multiplied by
};

}  // namespace saddle::curvature
