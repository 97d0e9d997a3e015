// Second-order jets: value, first and second derivative along one direction, so that one forward
// pass gives v'Hv (Griewank and Walther, "Evaluating Derivatives", 2nd ed., chapter 13).
#pragma once

#include "num/number.h"
#include "num/real.h"

namespace saddle::num {

template <class T>
struct Jet {
  T v{};   // value
  T d{};   // first derivative
  T dd{};  // second derivative

  Jet() = default;
  constexpr Jet(T value) : v(value) {}  // NOLINT: constants convert implicitly
  constexpr Jet(T value, T first, T second) : v(value), d(first), dd(second) {}

  friend constexpr Jet operator+(Jet a, Jet b) { return {a.v + b.v, a.d + b.d, a.dd + b.dd}; }
  friend constexpr Jet operator-(Jet a, Jet b) { return {a.v - b.v, a.d - b.d, a.dd - b.dd}; }
  friend constexpr Jet operator-(Jet a) { return {-a.v, -a.d, -a.dd}; }
  friend constexpr Jet operator*(Jet a, Jet b) {
    return {a.v * b.v, a.d * b.v + a.v * b.d, a.dd * b.v + T(2) * a.d * b.d + a.v * b.dd};
  }
  friend constexpr Jet operator/(Jet a, Jet b) {
    const T q = a.v / b.v;
    const T q1 = (a.d - q * b.d) / b.v;
    return {q, q1, (a.dd - T(2) * q1 * b.d - q * b.dd) / b.v};
  }
  friend constexpr Jet operator*(Jet a, T b) { return {a.v * b, a.d * b, a.dd * b}; }
  friend constexpr Jet operator*(T a, Jet b) { return b * a; }
  friend constexpr Jet operator+(Jet a, T b) { return {a.v + b, a.d, a.dd}; }
  friend constexpr Jet operator+(T a, Jet b) { return b + a; }
  friend constexpr Jet operator-(Jet a, T b) { return {a.v - b, a.d, a.dd}; }
  friend constexpr Jet operator-(T a, Jet b) { return {a - b.v, -b.d, -b.dd}; }
  friend constexpr Jet operator/(Jet a, T b) { return {a.v / b, a.d / b, a.dd / b}; }
  constexpr Jet& operator+=(Jet b) { return *this = *this + b; }
  constexpr Jet& operator-=(Jet b) { return *this = *this - b; }
  constexpr Jet& operator*=(Jet b) { return *this = *this * b; }
};

template <class T>
struct NumberTraits<Jet<T>> {
  static constexpr int kPlanes = 3;
  using Plane = T;
  static constexpr T get(const Jet<T>& x, int p) { return p == 0 ? x.v : p == 1 ? x.d : x.dd; }
  static constexpr void set(Jet<T>& x, int p, T plane) {
    (p == 0 ? x.v : p == 1 ? x.d : x.dd) = plane;
  }
};

template <class T>
constexpr auto value(Jet<T> x) {
  return value(x.v);
}

// f(x) from f, f' and f'' at the value (Faa di Bruno's formula to second order).
template <class T>
constexpr Jet<T> compose(Jet<T> x, T f, T f1, T f2) {
  return {f, f1 * x.d, f2 * x.d * x.d + f1 * x.dd};
}

template <class T>
constexpr Jet<T> exp(Jet<T> x) {
  const T f = exp(x.v);
  return compose(x, f, f, f);
}

template <class T>
constexpr Jet<T> log(Jet<T> x) {
  const T inverse = T(1) / x.v;
  return compose(x, log(x.v), inverse, -inverse * inverse);
}

template <class T>
constexpr Jet<T> sqrt(Jet<T> x) {
  const T f = sqrt(x.v);
  const T f1 = T(0.5) / f;
  return compose(x, f, f1, T(-0.5) * f1 / x.v);
}

template <class T>
constexpr Jet<T> rsqrt(Jet<T> x) {
  const T f = rsqrt(x.v);
  const T f1 = T(-0.5) * f * f * f;
  return compose(x, f, f1, T(-1.5) * f1 * f * f);
}

template <class T>
constexpr Jet<T> sigmoid(Jet<T> x) {
  const T f = sigmoid(x.v);
  const T f1 = f * (T(1) - f);
  return compose(x, f, f1, f1 * (T(1) - f - f));
}

}  // namespace saddle::num
