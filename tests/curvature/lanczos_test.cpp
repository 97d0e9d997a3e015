// Operators whose eigenvalues are known.
#include "curvature/lanczos.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "support/expect_error.h"
#include "support/test_context.h"

namespace saddle::curvature {
namespace {

template <class T>
struct Space {
  Space(int64_t size, int64_t lanes) {
    tensor::Layout layout;
    layout.add_vector("x", size);
    basis = backend::Arena<T>(context, layout, lanes);
  }
  void set(int64_t lane, const std::vector<T>& values) {
    backend::copy_from_host<T>(context, values.data(), 0, basis.view(0).worker_range(lane, 1));
  }
  std::vector<T> get(int64_t lane) const {
    return backend::to_host<T>(context, basis.view(0).worker_range(lane, 1));
  }

  mutable backend::Context context = test_context(2);
  backend::Arena<T> basis;
};

// Multiplies with a matrix given by its rows. The lanes hold one vector without padding inside.
template <class T>
SymmetricOperator<T> product_with(backend::Context& context,
                                  const std::vector<std::vector<double>>& matrix) {
  return [&context, matrix](backend::View<const T> v, backend::View<T> product) {
    const std::vector<T> x = backend::to_host<T>(context, v);
    std::vector<T> y(x.size());
    for (size_t i = 0; i < matrix.size(); ++i) {
      double sum = 0;
      for (size_t j = 0; j < matrix.size(); ++j) sum += matrix[i][j] * static_cast<double>(x[j]);
      y[i] = static_cast<T>(sum);
    }
    backend::copy_from_host<T>(context, y.data(), 0, product);
    return true;
  };
}

std::vector<std::vector<double>> diagonal_matrix(const std::vector<double>& values) {
  std::vector<std::vector<double>> matrix(values.size(), std::vector<double>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) matrix[i][i] = values[i];
  return matrix;
}

// With as many steps as dimensions all eigenvalues are found, and the weights are the squared
// components of the start vector.
TEST(Lanczos, FindsAllEigenvaluesOfASmallOperator) {
  const std::vector<double> eigenvalues = {-3, -0.5, 1, 2, 7};
  const std::vector<double> start = {1, 2, -1, 3, 1};  // squared norm 16
  Space<double> space(5, 6);
  space.set(0, start);
  const auto found = lanczos<double>(
      space.context, product_with<double>(space.context, diagonal_matrix(eigenvalues)), 5,
      space.basis);
  ASSERT_TRUE(found.has_value());
  const std::vector<RitzValue> ritz = ritz_values(*found);
  ASSERT_EQ(ritz.size(), 5U);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(ritz[i].value, eigenvalues[i], 1e-12);
    EXPECT_NEAR(ritz[i].weight, start[i] * start[i] / 16, 1e-12);
    // Nothing is left after the last step, but what the products round.
    EXPECT_EQ(ritz[i].residual, found->rounding);
  }
  EXPECT_GE(found->rounding, 7 * std::numeric_limits<double>::epsilon());
  EXPECT_LT(found->rounding, 1e-12);
}

// A Ritz vector's residual, computed afresh in double, is no more than what is reported. Far more
// steps than the largest eigenvalue needs would report 1e-20 of it by the recurrence alone.
TEST(Lanczos, ResidualsAreNotBelowTheRoundingOfTheirType) {
  constexpr int64_t kSize = 60, kSteps = 40;
  std::vector<double> eigenvalues(kSize);
  for (int64_t i = 0; i < kSize; ++i) eigenvalues[i] = std::pow(0.7, static_cast<double>(i)) / 3;
  const auto matrix = diagonal_matrix(eigenvalues);
  Space<float> space(kSize, kSteps + 1);
  space.set(0, std::vector<float>(kSize, 1));
  const Tridiagonal found =
      lanczos<float>(space.context, product_with<float>(space.context, matrix), kSteps, space.basis)
          .value();
  for (const RitzValue& value : ritz_values(found)) {
    EXPECT_GE(value.residual, std::numeric_limits<float>::epsilon() * eigenvalues[0]);
    double distance = 1;
    for (const double eigenvalue : eigenvalues) {
      distance = std::min(distance, std::abs(value.value - eigenvalue));
    }
    EXPECT_LE(distance, value.residual) << value.value;
  }
}

// The eigenvalues of the second-difference matrix of n points are 2 - 2 cos(pi k / (n + 1)). There
// are far more steps than the outer ones need; in float, orthogonality must not be lost.
TEST(Lanczos, FindsTheOuterEigenvaluesFirstAndBoundsTheirError) {
  constexpr int64_t kSize = 200, kSteps = 120;
  std::vector<std::vector<double>> matrix(kSize, std::vector<double>(kSize));
  for (int64_t i = 0; i < kSize; ++i) {
    matrix[i][i] = 2;
    if (i > 0) matrix[i][i - 1] = matrix[i - 1][i] = -1;
  }
  Space<float> space(kSize, kSteps + 1);
  std::vector<float> start(kSize);
  const RandomStream stream(1, RandomPurpose::kTest);
  for (int64_t i = 0; i < kSize; ++i) start[i] = static_cast<float>(stream.normal(i));
  space.set(0, start);
  const auto found = lanczos<float>(space.context, product_with<float>(space.context, matrix),
                                    kSteps, space.basis);
  const std::vector<RitzValue> ritz = ritz_values(found.value());
  const auto eigenvalue = [](int64_t k) {
    return 2 - 2 * std::cos(M_PI * static_cast<double>(k) / (kSize + 1));
  };
  // A vector of norm up to 4 is rounded to float once as a product and once in each of up to 2
  // kSteps subtractions.
  const double rounding = (2 * kSteps + 1) * 4 * std::ldexp(1, -24);
  // There is an eigenvalue near each value; no value is above the eigenvalue of its rank.
  for (int64_t rank = 0; rank < kSteps; ++rank) {
    const RitzValue& value = ritz[ritz.size() - 1 - static_cast<size_t>(rank)];
    double distance = 4;
    for (int64_t k = 1; k <= kSize; ++k) {
      distance = std::min(distance, std::abs(value.value - eigenvalue(k)));
    }
    EXPECT_LE(distance, value.residual + rounding) << rank;
    EXPECT_LE(value.value, eigenvalue(kSize - rank) + rounding) << rank;
  }
  // Fewer steps are the beginning of these. The largest value only gets nearer; its residual need
  // not shrink with each doubling, but does over all of them.
  double error = 4;
  std::vector<double> residuals;
  for (size_t steps = 15; steps <= kSteps; steps *= 2) {
    Tridiagonal first = found.value();
    first.diagonal.resize(steps);
    first.off_diagonal.resize(steps);
    const RitzValue largest = ritz_values(first).back();
    EXPECT_LT(eigenvalue(kSize) - largest.value, error) << steps;
    error = eigenvalue(kSize) - largest.value;
    residuals.push_back(largest.residual);
  }
  EXPECT_LT(residuals.back(), residuals.front() / 2);
  double weights = 0;
  for (const RitzValue& value : ritz) weights += value.weight;
  EXPECT_NEAR(weights, 1, 1e-12);
  for (int64_t a = 0; a < kSteps; a += 17) {
    for (int64_t b = 0; b <= a; b += 13) {
      const std::vector<float> x = space.get(a), y = space.get(b);
      const double dot = std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
      EXPECT_NEAR(dot, a == b ? 1 : 0, 1e-6) << a << " " << b;
    }
  }
}

// Outliers far from the rest take so much out of each product that one pass of subtractions leaves
// rounding errors that grow from step to step: the outliers would be found several times.
TEST(Lanczos, StaysOrthogonalWithOutliers) {
  constexpr int64_t kSize = 60, kSteps = 40;
  std::vector<double> eigenvalues = {100, 200, 300};
  for (int64_t i = 3; i < kSize; ++i) eigenvalues.push_back(static_cast<double>(i) / kSize);
  Space<float> space(kSize, kSteps + 1);
  space.set(0, std::vector<float>(kSize, 1));
  const Tridiagonal found =
      lanczos<float>(space.context,
                     product_with<float>(space.context, diagonal_matrix(eigenvalues)), kSteps,
                     space.basis)
          .value();
  ASSERT_EQ(found.diagonal.size(), static_cast<size_t>(kSteps));
  for (int64_t a = 0; a <= kSteps; ++a) {
    for (int64_t b = 0; b <= a; ++b) {
      const std::vector<float> x = space.get(a), y = space.get(b);
      const double dot = std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
      // Twice the subtraction of up to 40 vectors, each rounded to 6e-8 of a vector of norm 1.
      EXPECT_NEAR(dot, a == b ? 1 : 0, 1e-6) << a << " " << b;
    }
  }
  const std::vector<RitzValue> ritz = ritz_values(found);
  EXPECT_EQ(std::ranges::count_if(ritz, [](const RitzValue& r) { return r.value > 2; }), 3);
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_NEAR(ritz[ritz.size() - 1 - rank].value, eigenvalues[2 - rank], found.rounding);
  }
}

// A start vector inside an invariant subspace.
TEST(Lanczos, StopsWhereTheSubspaceIsExhausted) {
  Space<double> space(4, 5);
  space.set(0, {1, 1, 0, 0});
  const auto found = lanczos<double>(
      space.context, product_with<double>(space.context, diagonal_matrix({2, 5, 7, 9})), 4,
      space.basis);
  const std::vector<RitzValue> ritz = ritz_values(found.value());
  ASSERT_EQ(ritz.size(), 2U);
  EXPECT_NEAR(ritz[0].value, 2, 1e-13);
  EXPECT_NEAR(ritz[1].value, 5, 1e-13);
}

TEST(Lanczos, StopsWhenAskedAndRefusesZeroAndNan) {
  Space<double> space(3, 3);
  space.set(0, {1, 2, 3});
  EXPECT_FALSE(lanczos<double>(
                   space.context, [](auto, auto) { return false; }, 2, space.basis)
                   .has_value());
  expect_error(ErrorKind::kNumeric, {"Lanczos vector 0"}, [&] {
    lanczos<double>(space.context,
                    product_with<double>(space.context, diagonal_matrix({1, NAN, 1})), 2,
                    space.basis);
  });
  space.set(0, {0, 0, 0});
  expect_error(ErrorKind::kInternal, {"norm 0"}, [&] {
    lanczos<double>(space.context, product_with<double>(space.context, diagonal_matrix({1, 1, 1})),
                    2, space.basis);
  });
}

}  // namespace
}  // namespace saddle::curvature
