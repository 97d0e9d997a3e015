// The wider counterpart of a number type, used for sums over many numbers: float accumulates in
// double, plane by plane.
#pragma once

#include "num/dual.h"
#include "num/jet.h"

namespace saddle::num {

template <class S>
struct WideTraits {
  using Type = S;
};
template <>
struct WideTraits<float> {
  using Type = double;
};
template <>
struct WideTraits<Dual<float>> {
  using Type = Dual<double>;
};
template <>
struct WideTraits<Jet<float>> {
  using Type = Jet<double>;
};

template <class S>
using Wide = typename WideTraits<S>::Type;

// Converts every plane.
template <class To, class From>
constexpr To convert(From x) {
  To result{};
  for (int p = 0; p < kPlanes<From>; ++p) {
    NumberTraits<To>::set(result, p, static_cast<Plane<To>>(NumberTraits<From>::get(x, p)));
  }
  return result;
}

}  // namespace saddle::num
