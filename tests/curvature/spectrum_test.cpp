// Eigenvalues and density of a model's Hessian against a dense solver applied to the Hessian
// itself, which is built from its products with unit vectors.
#include "curvature/spectrum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/exit_codes.h"
#include "base/random.h"
#include "curvature/analyzed_run.h"
#include "curvature/hessian_vector_product.h"
#include "curvature/small_case.h"
#include "support/dot.h"
#include "support/expect_error.h"
#include "support/run_program.h"

namespace saddle::curvature {
namespace {

using ::testing::HasSubstr;

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

class AnalyzedSpectrum : public ::testing::Test {
 protected:
  AnalyzedSpectrum() {
    options_.checkpoints = {"final"};
    options_.cases = {DataCaseKind::kSeen};
  }

  Json content() const { return read_json(run_.output() / "final.seen.json"); }

  AnalyzedRun run_;
  AnalysisOptions options_ = run_.options();
};

TEST_F(AnalyzedSpectrum, IsInTheCaseFile) {
  analyze(options_);
  const Json without = content();
  EXPECT_FALSE(without.contains("spectrum"));
  for (const auto& [key, value] : without["identity"].items()) {
    EXPECT_THAT(key, ::testing::Not(HasSubstr("spectrum"))) << value;
  }
  std::filesystem::remove_all(run_.output());
  options_.spectrum = {.top_eigenvalues = 2, .density = true, .starts = 3, .steps = 5};
  analyze(options_);
  Json with = content();
  ASSERT_EQ(with["spectrum"]["top_eigenvalues"].size(), 2);
  const Json& top = with["spectrum"]["top_eigenvalues"];
  EXPECT_GT(top[0]["value"], top[1]["value"]);
  ASSERT_EQ(with["spectrum"]["density"].size(), 3);
  const Json& first = with["spectrum"]["density"][0];
  ASSERT_EQ(first["nodes"].size(), 5);
  EXPECT_EQ(first["nodes"][4], top[0]["value"]);
  EXPECT_EQ(first["residuals"][4], top[0]["residual"]);
  double weights = 0;
  for (const Json& weight : first["weights"]) weights += weight.get<double>();
  EXPECT_NEAR(weights, 1, 1e-14);
  EXPECT_THAT(read_file(run_.output() / "summary.csv"),
              HasSubstr("," + top[0]["value"].dump() + "\n"));
  // Everything else is the same as without it.
  for (const auto& [key, value] : without.items()) {
    if (key == "identity") continue;
    EXPECT_EQ(with[key], value) << key;
  }
}

TEST_F(AnalyzedSpectrum, AnotherSettingIsRefusedByName) {
  options_.spectrum = {.top_eigenvalues = 1, .density = true, .starts = 1, .steps = 3};
  analyze(options_);
  EXPECT_EQ(analyze(options_).reused, 1);
  const auto expect_refusal = [this](const SpectrumOptions& spectrum, const std::string& part) {
    AnalysisOptions changed = options_;
    changed.spectrum = spectrum;
    expect_error(ErrorKind::kConfig, {part}, [&] { analyze(changed); });
  };
  expect_refusal({.top_eigenvalues = 2, .density = true, .starts = 1, .steps = 3},
                 "analysis.top_eigenvalues (there 1, now 2)");
  expect_refusal({.top_eigenvalues = 1, .density = true, .starts = 2, .steps = 3},
                 "analysis.spectrum_starts (there 1, now 2)");
  expect_refusal({.top_eigenvalues = 1, .density = true, .starts = 1, .steps = 4},
                 "analysis.lanczos_steps (there 3, now 4)");
  expect_refusal({.top_eigenvalues = 1, .starts = 1, .steps = 3},
                 "analysis.spectrum (there true, now false)");
  expect_refusal({}, "analysis.top_eigenvalues (there 1, now missing)");
}

TEST_F(AnalyzedSpectrum, MayBeRequestedAlone) {
  const std::string command = fmt::format(
      "analyze --run {} --output {} --threads 1 --checkpoints final --data-case seen "
      "--noise-samples 0 --random-samples 0 ",
      run_.run().string(), run_.output().string());
  EXPECT_EQ(run_saddle(command).exit_code, exit_code(ErrorKind::kUsage));
  const ProgramResult few = run_saddle(command + "--top-eigenvalues 3 --lanczos-steps 2");
  EXPECT_EQ(few.exit_code, exit_code(ErrorKind::kUsage));
  EXPECT_THAT(few.errors, HasSubstr("--lanczos-steps is 2"));
  const ProgramResult little = run_saddle(command + "--spectrum --memory-gib 1e-5");
  EXPECT_EQ(little.exit_code, exit_code(ErrorKind::kConfig));
  EXPECT_THAT(little.errors, HasSubstr("30 Lanczos steps keep"));
  EXPECT_FALSE(std::filesystem::exists(run_.output()));

  const ProgramResult result =
      run_saddle(command + "--top-eigenvalues 2 --spectrum --lanczos-steps 4 --spectrum-starts 1");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  const Json spectrum = content()["spectrum"];
  ASSERT_EQ(spectrum["top_eigenvalues"].size(), 2);
  EXPECT_EQ(spectrum["density"].size(), 1);
  EXPECT_THAT(result.output, HasSubstr("largest eigenvalues"));
  EXPECT_THAT(
      result.output,
      HasSubstr(fmt::format("{:.5g} ± ", spectrum["top_eigenvalues"][0]["value"].get<double>())));
}

}  // namespace
}  // namespace saddle::curvature
