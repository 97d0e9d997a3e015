// The properties of a number type that operations use: how many planes it is stored in, the type of
// one plane, its value. Number types: float, double, Dual<T> (num/dual.h), Jet<T> (num/jet.h), and
// for storage Bf16 (num/bf16.h).
//
// All functions of this room are constexpr: such functions nvcc compiles for the GPU as well
// (--expt-relaxed-constexpr), without a mark of its own on each.
#pragma once

#include <cstdint>
#include <type_traits>

namespace saddle::num {

// Specialized by each number type that is stored in more than one plane:
//   kPlanes, Plane (the type of one plane), get(x, p), set(x, p, plane value).
template <class S>
struct NumberTraits {
  static constexpr int kPlanes = 1;
  using Plane = S;
  static constexpr S get(const S& x, int) { return x; }
  static constexpr void set(S& x, int, S plane) { x = plane; }
};

template <class S>
inline constexpr int kPlanes = NumberTraits<std::remove_const_t<S>>::kPlanes;

// The type of one plane of S, const when S is.
template <class S>
using Plane = std::conditional_t<std::is_const_v<S>,
                                 const typename NumberTraits<std::remove_const_t<S>>::Plane,
                                 typename NumberTraits<std::remove_const_t<S>>::Plane>;

// The number type in which numbers stored as S are computed: S, unless S is only for storage.
template <class S>
struct ArithmeticOf {
  using Type = S;
};
template <class S>
using Arithmetic = typename ArithmeticOf<std::remove_const_t<S>>::Type;

// The type of the constants of this arithmetic: a plane of it.
template <class S>
using Scalar = Plane<Arithmetic<S>>;

// Only the value, the part that a branch may depend on.
constexpr float value(float x) {
  return x;
}
constexpr double value(double x) {
  return x;
}

}  // namespace saddle::num
