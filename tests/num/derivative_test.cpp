// Dual numbers and jets against finite differences, the complex step and each other.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <string>

#include "num/number_types.h"

namespace saddle::num {

using Complex = std::complex<double>;

// The functions that the C library lacks, for complex numbers; placed here so that they do not hide
// those for real numbers.
static Complex rsqrt(Complex x) {
  return 1.0 / std::sqrt(x);
}
static Complex sigmoid(Complex x) {
  return 1.0 / (1.0 + std::exp(-x));
}

namespace {

using DD = Dual<Dual<double>>;

// Formulas are written once and evaluated over double, dual numbers, jets, nested dual numbers and
// complex numbers. Constants have the type of a plane.
struct ExpOf {
  static constexpr const char* kName = "exp";
  template <class S>
  S operator()(S x) const {
    using std::exp;
    return exp(x);
  }
};
struct LogOf {
  static constexpr const char* kName = "log";
  template <class S>
  S operator()(S x) const {
    using std::log;
    return log(x);
  }
};
struct SqrtOf {
  static constexpr const char* kName = "sqrt";
  template <class S>
  S operator()(S x) const {
    using std::sqrt;
    return sqrt(x);
  }
};
struct RsqrtOf {
  static constexpr const char* kName = "rsqrt";
  template <class S>
  S operator()(S x) const {
    return rsqrt(x);
  }
};
struct SigmoidOf {
  static constexpr const char* kName = "sigmoid";
  template <class S>
  S operator()(S x) const {
    return sigmoid(x);
  }
};
// Every arithmetic operator, between numbers and with constants on either side.
template <class T>
struct Arithmetic {
  static constexpr const char* kName = "arithmetic";
  template <class S>
  S operator()(S x) const {
    S y = -x * T(3) + T(2) * x * x - T(0.5);
    y += T(1) - x;
    y -= x / T(4);
    y *= x + T(2);
    return (T(1) + y) / (x * x + T(1)) - S(T(3)) / x;
  }
};
template <class T>
struct Mixed {
  static constexpr const char* kName = "mixed";
  template <class S>
  S operator()(S x) const {
    using std::exp;
    using std::log;
    using std::sqrt;
    return x * sigmoid(x) * exp(x * T(-0.3)) / sqrt(x * x + T(1)) + log(x) * rsqrt(x + T(2));
  }
};

constexpr double kPoints[] = {0.1, 0.37, 1.0, 1.9, 4.2, 11.0};
constexpr double kDirection = 1.7;  // x moves at this speed ...
constexpr double kBend = -0.6;      // ... with this acceleration: x(t) = x + 1.7 t - 0.3 t^2

double path(double x, double t) {
  return x + kDirection * t + kBend * t * t / 2;
}

// d/dt f(x(t)) by the complex step (Squire and Trapp, SIAM Review 40(1), 1998).
template <class F>
double complex_step(F f, double x, double t) {
  constexpr double kStep = 1e-100;
  const double speed = kDirection + kBend * t;
  return f(Complex(path(x, t), speed * kStep)).imag() / kStep;
}

// f computes with constants of type double, `nested` is the same with constants of Dual<double>.
template <class F, class G>
void check(F f, G nested) {
  for (const double x : kPoints) {
    SCOPED_TRACE(std::string(F::kName) + " at " + std::to_string(x));
    const double value = f(x);
    const double first = complex_step(f, x, 0);
    // About a dozen roundings of 1.1e-16 of terms of this size.
    const double size = 1 + std::abs(value) + std::abs(first) + std::abs(value) / (x * x);
    const double rounding = 5e-15 * size;

    const Dual<double> dual = f(Dual<double>(x, kDirection));
    EXPECT_NEAR(dual.v, value, rounding);
    EXPECT_NEAR(dual.t, first, rounding);
    const Jet<double> jet = f(Jet<double>(x, kDirection, kBend));
    EXPECT_NEAR(jet.v, value, rounding);
    EXPECT_NEAR(jet.d, first, rounding);

    // Central differences: their error is h^2 / 6 times the third derivative, which is at most a
    // few hundred at these points after division by x^3, plus 1e-16 / h of rounding.
    const double h = 1e-5 * x;
    EXPECT_NEAR(dual.t, (f(path(x, h)) - f(path(x, -h))) / (2 * h), 1e-8 * size);
    EXPECT_NEAR(jet.dd, (complex_step(f, x, h) - complex_step(f, x, -h)) / (2 * h),
                1e-7 * size / x);

    const DD twice = nested(DD(Dual<double>(x, kDirection), Dual<double>(kDirection, kBend)));
    EXPECT_NEAR(twice.v.v, value, rounding);
    EXPECT_NEAR(twice.v.t, first, rounding);
    EXPECT_NEAR(twice.t.v, first, rounding);
    EXPECT_NEAR(twice.t.t, jet.dd, rounding / x);
  }
}

TEST(Derivatives, OfElementaryFunctions) {
  check(ExpOf{}, ExpOf{});
  check(LogOf{}, LogOf{});
  check(SqrtOf{}, SqrtOf{});
  check(RsqrtOf{}, RsqrtOf{});
  check(SigmoidOf{}, SigmoidOf{});
}

TEST(Derivatives, OfFormulas) {
  check(Arithmetic<double>{}, Arithmetic<Dual<double>>{});
  check(Mixed<double>{}, Mixed<Dual<double>>{});
}

TEST(Derivatives, InFloatMatchDouble) {
  for (const double x : kPoints) {
    const Jet<double> wide = Mixed<double>{}(Jet<double>(x, kDirection, kBend));
    const auto at = static_cast<float>(x);
    const Jet<float> jet =
        Mixed<float>{}(Jet<float>(at, static_cast<float>(kDirection), static_cast<float>(kBend)));
    // About ten roundings of 6e-8 of terms that grow like 1 / x^2.
    const double tolerance = 2e-6 * (1 + 1 / (x * x));
    EXPECT_NEAR(jet.v, wide.v, tolerance) << x;
    EXPECT_NEAR(jet.d, wide.d, tolerance) << x;
    EXPECT_NEAR(jet.dd, wide.dd, tolerance) << x;
  }
}

// 1 / (1 + exp(-x)) differentiated as it is written would give infinity / infinity here.
TEST(Sigmoid, HasFiniteDerivativesFarFromZero) {
  for (const float x : {1000.0f, -1000.0f, 3e38f, -3e38f}) {
    EXPECT_EQ(sigmoid(Dual<float>(x, 1)).t, 0.0f) << x;
    EXPECT_EQ(sigmoid(Dual<double>(x, 1)).t, 0.0) << x;
    EXPECT_EQ(sigmoid(Jet<float>(x, 1, 1)).d, 0.0f) << x;
    EXPECT_EQ(sigmoid(Jet<double>(x, 1, 1)).dd, 0.0) << x;
  }
}

// NaN in one plane reaches the planes after it, but not those before it.
TEST(Derivatives, NanReachesOnlyItsPlaneAndLaterOnes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto f = Mixed<double>{};
  EXPECT_TRUE(std::isfinite(f(Dual<double>(1, nan)).v));
  EXPECT_TRUE(std::isnan(f(Dual<double>(1, nan)).t));
  EXPECT_TRUE(std::isnan(f(Dual<double>(nan, 1)).t));
  EXPECT_TRUE(std::isfinite(f(Jet<double>(1, nan, 0)).v));
  EXPECT_TRUE(std::isnan(f(Jet<double>(1, nan, 0)).dd));
  EXPECT_TRUE(std::isfinite(f(Jet<double>(1, 1, nan)).d));
  EXPECT_TRUE(std::isnan(f(Jet<double>(1, 1, nan)).dd));
}

TEST(NumberTraits, NameEveryPlane) {
  static_assert(kPlanes<const float> == 1 && kPlanes<Dual<float>> == 2 &&
                kPlanes<Jet<double>> == 3);
  static_assert(std::is_same_v<Plane<const Dual<float>>, const float>);
  Jet<float> x;
  for (int p = 0; p < 3; ++p) NumberTraits<Jet<float>>::set(x, p, static_cast<float>(p + 1));
  EXPECT_EQ(x.v, 1);
  EXPECT_EQ(x.d, 2);
  EXPECT_EQ(x.dd, 3);
  for (int p = 0; p < 3; ++p) EXPECT_EQ(NumberTraits<Jet<float>>::get(x, p), p + 1);
  EXPECT_EQ(value(DD(Dual<double>(4, 5))), 4);
}

}  // namespace
}  // namespace saddle::num
