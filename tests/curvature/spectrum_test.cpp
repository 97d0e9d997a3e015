// Eigenvalues and density of a model's Hessian against a dense solver applied to the Hessian
// itself, which is built from its products with unit vectors.
#include "curvature/spectrum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "curvature/hessian_vector_product.h"
#include "curvature/small_case.h"
#include "support/dot.h"
#include "support/expect_error.h"

namespace saddle::curvature {
namespace {

constexpr int64_t kSequences = 9;  // of a microbatch
constexpr int64_t kManyBytes = int64_t{1} << 30;

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

Vector product(const Matrix& matrix, const Vector& x) {
  Vector y;
  for (const Vector& row : matrix) y.push_back(dot(row, x));
  return y;
}

// The eigenvalues of a symmetric matrix, descending, by Jacobi's rotations in cyclic order (Golub
// and Van Loan, "Matrix computations", 4th edition, section 8.5).
Vector eigenvalues(Matrix a) {
  const size_t n = a.size();
  for (int sweep = 0; sweep < 12; ++sweep) {
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) {
        if (a[p][q] == 0) continue;
        const double tau = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const double t = (tau < 0 ? -1 : 1) / (std::abs(tau) + std::sqrt(1 + tau * tau));
        const double c = 1 / std::sqrt(1 + t * t), s = t * c;
        for (size_t k = 0; k < n; ++k) {
          const double x = a[k][p], y = a[k][q];
          a[k][p] = c * x - s * y;
          a[k][q] = s * x + c * y;
        }
        for (size_t k = 0; k < n; ++k) {
          const double x = a[p][k], y = a[q][k];
          a[p][k] = c * x - s * y;
          a[q][k] = s * x + c * y;
        }
      }
    }
  }
  Vector values;
  for (size_t i = 0; i < n; ++i) values.push_back(a[i][i]);
  std::ranges::sort(values, std::greater<>());
  return values;
}

// A model of 156 parameters on the data of a small case.
template <class T>
struct SmallHessian {
  SmallHessian() {
    model = small.settings.model;
    model.layers = 1;
    model.width = 2;
    model.heads = 1;
    model.ffn_width = 2;
    weights = backend::Arena<T>(small.context, model::Parameters(model).layout, 1);
    model::set_initial_weights<T>(small.context, model, 7, weights);
    // Larger than initial weights, so that attention is not uniform.
    std::vector<double> larger = golden::parameters_to_host(weights);
    for (double& x : larger) x *= x == 1 ? 1 : 20;
    golden::parameters_from_host(larger, weights);
  }

  int64_t size() const { return weights.layout().size(); }

  std::optional<SpectrumResult> spectrum(
      const SpectrumOptions& options, const std::function<int()>& stop = [] { return 0; }) {
    Log log = Log::silent();
    SpectrumWork work;
    work.hvp_batch_size = kSequences;
    work.direction_bytes = kManyBytes;
    return measure_spectrum<T>(small.context, model, data, weights, options, work, stop, log);
  }

  // The Hessian, from its products with the unit vectors.
  Matrix matrix() {
    HessianVectorProduct<T> hessian(small.context, model, false, kSequences, weights);
    EpochMicrobatches microbatches(data, kSequences);
    backend::Arena<T> lanes(small.context, weights.layout(), 2);
    Matrix rows;
    Vector unit(static_cast<size_t>(size()));
    for (double& x : unit) {
      x = 1;
      golden::parameters_from_host(unit, lanes, 0, 0);
      x = 0;
      hessian.apply(microbatches, lanes.all().worker_range(0, 1), lanes.all().worker_range(1, 1),
                    [](int64_t, int64_t) { return true; });
      rows.push_back(golden::parameters_to_host(lanes, 0, 1));
    }
    return rows;
  }

  // Start vector `start`, random signs.
  Vector signs(uint64_t start) const {
    const RandomStream random(42, RandomPurpose::kDirection, (uint64_t{1} << 31) + start);
    Vector s(static_cast<size_t>(size()));
    for (size_t j = 0; j < s.size(); ++j) s[j] = random.rademacher(j);
    return s;
  }

  SmallCase<T> small;
  config::ModelSettings model;
  backend::Arena<T> weights;
  DataCase data{small.cache, small.settings, DataCaseKind::kSeen};
};

TEST(Spectrum, LargestEigenvaluesAreThoseOfTheHessianItself) {
  SmallHessian<double> hessian;
  const Matrix matrix = hessian.matrix();
  const Vector expected = eigenvalues(matrix);
  const double size = expected[0];
  EXPECT_GT(size, 0);
  for (size_t i = 0; i < matrix.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NEAR(matrix[i][j], matrix[j][i], 1e-12 * size);
  }
  const SpectrumResult found = hessian.spectrum({.top_eigenvalues = 4, .steps = 100}).value();
  ASSERT_EQ(found.top.size(), 4U);
  EXPECT_TRUE(found.starts.empty());
  for (size_t k = 0; k < 4; ++k) {
    // Up to the rounding of the products: this many steps find the outer ones.
    EXPECT_NEAR(found.top[k].value, expected[k], 1e-10 * size) << k;
    EXPECT_LT(found.top[k].residual, 1e-5 * size);
  }
}

// With m steps the quadrature has the moments of the start vector up to the (2m - 1)-th.
TEST(Spectrum, QuadratureHasTheMomentsOfItsStartVectors) {
  SmallHessian<double> hessian;
  const Matrix matrix = hessian.matrix();
  const SpectrumResult found = hessian.spectrum({.density = true, .starts = 3, .steps = 4}).value();
  EXPECT_TRUE(found.top.empty());
  ASSERT_EQ(found.starts.size(), 3U);
  for (uint64_t start = 0; start < 3; ++start) {
    const std::vector<RitzValue>& values = found.starts[start];
    ASSERT_EQ(values.size(), 4U);
    const Vector s = hessian.signs(start);
    Vector power = s;
    for (int k = 0; k < 8; ++k) {
      double moment = 0, size = 0;
      for (const RitzValue& value : values) {
        moment += value.weight * std::pow(value.value, k);
        size += value.weight * std::pow(std::abs(value.value), k);
      }
      EXPECT_NEAR(moment, dot(s, power) / static_cast<double>(hessian.size()), 1e-11 * size) << k;
      power = product(matrix, power);
    }
  }
}

// The first moment by another method: s'Hs / D.
TEST(Spectrum, MeanOfTheDensityIsTheQuadraticForm) {
  SmallHessian<double> hessian;
  const SpectrumResult found = hessian.spectrum({.density = true, .starts = 1}).value();
  double mean = 0, size = 0;
  for (const RitzValue& value : found.starts.at(0)) {
    mean += value.weight * value.value;
    size += value.weight * std::abs(value.value);
  }
  backend::Arena<double> direction(hessian.small.context, hessian.weights.layout(), 1);
  golden::parameters_from_host(hessian.signs(0), direction);
  EpochMicrobatches microbatches(hessian.data, kSequences);
  const double form =
      make_quadratic_forms<double>(hessian.small.context, hessian.model, {}, kSequences,
                                   hessian.weights)
          ->measure(microbatches, direction, 1, [](int64_t, int64_t) { return true; })
          .value()
          .at(0);
  EXPECT_NEAR(mean, form / static_cast<double>(hessian.size()), 1e-11 * size);
}

TEST(Spectrum, Float32IsNear) {
  SmallHessian<double> exact;
  SmallHessian<float> rounded;
  const SpectrumOptions options = {.top_eigenvalues = 3, .steps = 40};
  const SpectrumResult expected = exact.spectrum(options).value();
  const SpectrumResult found = rounded.spectrum(options).value();
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(found.top[k].value, expected.top[k].value, 1e-4 * expected.top[0].value);
  }
}

TEST(Spectrum, StopsAtAnyPoint) {
  SmallHessian<double> hessian;
  const SpectrumOptions options = {.density = true, .starts = 2, .steps = 3};
  int64_t asked = 0;
  EXPECT_TRUE(hessian.spectrum(options, [&] { return ++asked, 0; }).has_value());
  EXPECT_EQ(asked, 2 * 3 * 3);  // starts, steps, microbatches
  for (int64_t after = 1; after <= asked; after += 4) {
    int64_t left = after;
    EXPECT_FALSE(hessian.spectrum(options, [&] { return --left > 0 ? 0 : 15; }).has_value());
    EXPECT_EQ(left, 0) << "it went on";
  }
}

TEST(Spectrum, RefusesInvalidOptions) {
  const auto expect_usage = [](const SpectrumOptions& options, const std::string& option) {
    expect_error(ErrorKind::kUsage, {option}, [&] { check_spectrum(options, 8, kManyBytes); });
  };
  expect_usage({.top_eigenvalues = -1}, "--top-eigenvalues is -1");
  expect_usage({.top_eigenvalues = 31}, "--lanczos-steps is 30");
  expect_usage({.density = true, .steps = 0}, "--lanczos-steps is 0");
  expect_usage({.density = true, .starts = 0}, "--spectrum-starts is 0");
  check_spectrum({.steps = 9}, 100, 1000);
  expect_error(ErrorKind::kConfig, {"10 Lanczos steps", "--memory-gib"},
               [] { check_spectrum({.steps = 10}, 100, 1000); });
}

}  // namespace
}  // namespace saddle::curvature
