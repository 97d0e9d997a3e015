// Dual numbers: a value and its tangent, the derivative along one direction. Running an adjoint
// over them gives Pearlmutter's Hessian-vector product (Pearlmutter, "Fast exact multiplication by
// the Hessian", Neural Computation 6(1), 1994).
#pragma once

#include "num/number.h"
#include "num/real.h"

namespace saddle::num {

template <class T>
struct Dual {
  T v{};  // value
  T t{};  // tangent

  Dual() = default;
  constexpr Dual(T value) : v(value) {}  // NOLINT: constants convert implicitly
  constexpr Dual(T value, T tangent) : v(value), t(tangent) {}

  friend constexpr Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.t + b.t}; }
  friend constexpr Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.t - b.t}; }
  friend constexpr Dual operator-(Dual a) { return {-a.v, -a.t}; }
  friend constexpr Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.t * b.v + a.v * b.t}; }
  friend constexpr Dual operator/(Dual a, Dual b) {
    const T q = a.v / b.v;
    return {q, (a.t - q * b.t) / b.v};
  }
  friend constexpr Dual operator*(Dual a, T b) { return {a.v * b, a.t * b}; }
  friend constexpr Dual operator*(T a, Dual b) { return b * a; }
  friend constexpr Dual operator+(Dual a, T b) { return {a.v + b, a.t}; }
  friend constexpr Dual operator+(T a, Dual b) { return b + a; }
  friend constexpr Dual operator-(Dual a, T b) { return {a.v - b, a.t}; }
  friend constexpr Dual operator-(T a, Dual b) { return {a - b.v, -b.t}; }
  friend constexpr Dual operator/(Dual a, T b) { return {a.v / b, a.t / b}; }
  constexpr Dual& operator+=(Dual b) { return *this = *this + b; }
  constexpr Dual& operator-=(Dual b) { return *this = *this - b; }
  constexpr Dual& operator*=(Dual b) { return *this = *this * b; }
};

template <class T>
struct NumberTraits<Dual<T>> {
  static constexpr int kPlanes = 2;
  using Plane = T;
  static constexpr T get(const Dual<T>& x, int p) { return p == 0 ? x.v : x.t; }
  static constexpr void set(Dual<T>& x, int p, T plane) { (p == 0 ? x.v : x.t) = plane; }
};

template <class T>
constexpr auto value(Dual<T> x) {
  return value(x.v);
}

template <class T>
constexpr Dual<T> exp(Dual<T> x) {
  const T f = exp(x.v);
  return {f, f * x.t};
}

template <class T>
constexpr Dual<T> log(Dual<T> x) {
  return {log(x.v), x.t / x.v};
}

template <class T>
constexpr Dual<T> sqrt(Dual<T> x) {
  const T f = sqrt(x.v);
  return {f, x.t / (f + f)};
}

template <class T>
constexpr Dual<T> rsqrt(Dual<T> x) {
  const T f = rsqrt(x.v);
  return {f, T(-0.5) * f * f * f * x.t};
}

// Uses its own derivative: 1 / (1 + exp(-x)) as written would give inf / inf for large -x.
template <class T>
constexpr Dual<T> sigmoid(Dual<T> x) {
  const T f = sigmoid(x.v);
  return {f, f * (T(1) - f) * x.t};
}

}  // namespace saddle::num
