// Forms do not depend on the length of a direction, but for its square.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "curvature/golden_batch.h"

namespace saddle::curvature {
namespace {

constexpr double kNorms[] = {1e-30, 1e-20, 1e20, 1e30};

double norm_of(const std::vector<double>& v) {
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}

std::vector<double> times(double factor, std::vector<double> v) {
  for (double& x : v) x *= factor;
  return v;
}

// As T holds it.
template <class T>
std::vector<double> rounded(std::vector<double> v) {
  for (double& x : v) x = static_cast<double>(static_cast<T>(x));
  return v;
}

template <class T>
std::vector<double> forms_along(const golden::Case& golden, FormOptions options,
                                const std::vector<std::vector<double>>& directions) {
  GoldenModel<T> model(golden);
  const auto count = static_cast<int64_t>(directions.size());
  backend::Arena<T> lanes(model.context, model.weights.layout(), count);
  for (int64_t k = 0; k < count; ++k) {
    golden::parameters_from_host(directions[static_cast<size_t>(k)], lanes, 0, k);
  }
  StoredMicrobatches microbatches = golden_microbatches(golden, golden.sequences);
  auto forms =
      make_quadratic_forms<T>(model.context, golden.model, options, golden.sequences, model.weights)
          ->measure(microbatches, lanes, count, go_on)
          .value();
  for (int64_t k = 0; k < count; ++k) {
    EXPECT_EQ(golden::parameters_to_host(lanes, 0, k),
              rounded<T>(directions[static_cast<size_t>(k)]))
        << "a direction was changed";
  }
  return forms;
}

class DirectionScale : public ::testing::TestWithParam<Method> {
 protected:
  // vᵀHv of a golden direction at several lengths, against the form at norm 1.
  template <class T>
  void expect_squares(bool autocast, double tolerance) const {
    const FormOptions options{.method = GetParam(), .autocast = autocast};
    for (const char* kind : {"rademacher", "gaussian"}) {
      std::vector<double> direction =
          golden::expected_parameters(golden_, std::string("direction.") + kind + ".");
      direction = rounded<T>(times(1 / norm_of(direction), direction));
      std::vector<std::vector<double>> all = {direction};
      for (const double norm : kNorms) all.push_back(times(norm, direction));
      for (const int exponent : {-100, 100}) {
        all.push_back(times(std::ldexp(1, exponent), direction));
      }
      const std::vector<double> forms = forms_along<T>(golden_, options, all);
      for (size_t k = 0; k < 4; ++k) {
        EXPECT_NEAR(forms[k + 1] / (kNorms[k] * kNorms[k]) / forms[0], 1, tolerance)
            << kind << " " << kNorms[k];
      }
      // Powers of two have no rounding at all.
      EXPECT_EQ(forms[5], std::ldexp(forms[0], -200)) << kind;
      EXPECT_EQ(forms[6], std::ldexp(forms[0], 200)) << kind;
    }
  }

  golden::Case golden_ = golden::load("tiny");
};

// A power of ten rounds the direction's numbers again, and float32 then rounds other bits on the
// way to the form: 1.1e-6 is seen here, up to 3e-6 between a form and float64 (GoldenForms).
// Products of the emulated device add up their terms one by one, which rounds more: 3.3e-6.
TEST_P(DirectionScale, DoesNotMatterInFloat32) {
  expect_squares<float>(false, tests_the_processor() ? 2e-6 : 6e-6);
}

TEST_P(DirectionScale, DoesNotMatterInFloat64) {
  expect_squares<double>(false, 1e-12);
}

TEST_P(DirectionScale, DoesNotMatterUnderAutocast) {
  expect_squares<float>(true, 2e-6);
}

// Zero stays zero; one number alone, the smallest that float32 has, is a direction like others.
TEST_P(DirectionScale, MayBeThatOfOneNumber) {
  const FormOptions options{.method = GetParam()};
  std::vector<double> one = golden::expected_parameters(golden_, "direction.gaussian.");
  std::fill(one.begin(), one.end(), 0.0);
  const std::vector<double> zero = one;
  one[one.size() / 2] = 1;
  const double least = std::ldexp(1, -149);
  const std::vector<double> forms =
      forms_along<float>(golden_, options, {zero, one, times(least, one)});
  EXPECT_EQ(forms[0], 0);
  EXPECT_NE(forms[1], 0);
  EXPECT_EQ(forms[2], std::ldexp(forms[1], -298));
}

std::string test_name(const ::testing::TestParamInfo<Method>& info) {
  std::string name(method_name(info.param));
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Methods, DirectionScale, ::testing::ValuesIn(kAllMethods), test_name);

}  // namespace
}  // namespace saddle::curvature
