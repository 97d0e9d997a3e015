// All methods against Hessian-vector products of an independent program in float64.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "curvature/golden_batch.h"
#include "curvature/hessian_vector_product.h"
#include "support/golden.h"
#include "support/test_context.h"

namespace saddle::curvature {
namespace {

const std::vector<std::string> kDirections = {"rademacher", "gaussian"};

// Forms of both stored directions.
template <class T>
std::vector<double> forms_of(const golden::Case& golden, FormOptions options, int64_t sequences) {
  GoldenModel<T> model(golden);
  backend::Arena<T> directions(model.context, model.weights.layout(), 3);
  for (size_t k = 0; k < kDirections.size(); ++k) {
    golden::parameters_from_host(
        golden::expected_parameters(golden, "direction." + kDirections[k] + "."), directions, 0,
        static_cast<int64_t>(k));
  }
  StoredMicrobatches microbatches = golden_microbatches(golden, sequences);
  const auto forms =
      make_quadratic_forms<T>(model.context, golden.model, options, sequences, model.weights);
  return forms->measure(microbatches, directions, 2, go_on).value();
}

class GoldenForms : public ::testing::TestWithParam<std::tuple<const char*, Method>> {
 protected:
  golden::Case golden_ = golden::load(std::get<0>(GetParam()));
  Method method_ = std::get<1>(GetParam());

  double expected(size_t k) const {
    return golden_.scalars.at("vHv_" + kDirections[k]).get<double>();
  }
};

// Two programs in float64 must agree to 1e-9; at most 1e-14 was observed.
TEST_P(GoldenForms, AgreeInFloat64ForAnySplitOfTheBatch) {
  for (int64_t sequences = 1; sequences <= golden_.sequences; ++sequences) {
    const std::vector<double> forms = forms_of<double>(golden_, {.method = method_}, sequences);
    for (size_t k = 0; k < forms.size(); ++k) {
      EXPECT_NEAR(forms[k] / expected(k), 1, 1e-9) << kDirections[k] << " by " << sequences;
    }
  }
}

// Float has 24 bits, and the terms of v'Hv have both signs: at most 3e-6 was observed.
TEST_P(GoldenForms, AgreeInFloat32) {
  const std::vector<double> forms =
      forms_of<float>(golden_, {.method = method_}, golden_.sequences);
  for (size_t k = 0; k < forms.size(); ++k) {
    EXPECT_NEAR(forms[k] / expected(k), 1, 2e-5) << kDirections[k];
  }
}

TEST_P(GoldenForms, AreTheSameBitsInEveryOrder) {
  const FormOptions options{.method = method_};
  const std::vector<double> expected = forms_of<float>(golden_, options, 1);
  in_every_order([&] { EXPECT_EQ(forms_of<float>(golden_, options, 1), expected); });
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenForms,
                         ::testing::Combine(::testing::Values("tiny", "oneblock"),
                                            ::testing::ValuesIn(kAllMethods)),
                         [](const auto& test) {
                           std::string name(method_name(std::get<1>(test.param)));
                           std::erase(name, '-');
                           return std::string(std::get<0>(test.param)) + "_" + name;
                         });

TEST(HessianVectorProducts, AreThoseOfAnIndependentProgram) {
  for (const char* name : {"tiny", "oneblock"}) {
    const golden::Case golden = golden::load(name);
    for (const std::string& kind : kDirections) {
      const auto direction = golden::expected_parameters(golden, "direction." + kind + ".");
      for (const int64_t sequences : {int64_t{1}, golden.sequences}) {
        const auto product = hessian_times<double>(golden, direction, sequences);
        EXPECT_LT(
            golden::relative_l2(product, golden::expected_parameters(golden, "hvp." + kind + ".")),
            1e-9)
            << name << " " << kind << " by " << sequences;
      }
    }
  }
}

// The rounding of sums of about a thousand products: 1e-12 leaves a wide margin.
TEST(HessianVectorProducts, AreSymmetric) {
  const golden::Case golden = golden::load("tiny");
  const auto u = golden::expected_parameters(golden, "direction.rademacher.");
  const auto v = golden::expected_parameters(golden, "direction.gaussian.");
  const auto hu = hessian_times<double>(golden, u, golden.sequences);
  const auto hv = hessian_times<double>(golden, v, golden.sequences);
  const double u_hv = std::inner_product(u.begin(), u.end(), hv.begin(), 0.0);
  const double v_hu = std::inner_product(v.begin(), v.end(), hu.begin(), 0.0);
  EXPECT_NEAR(u_hv / v_hu, 1, 1e-12);
}

TEST(HessianVectorProducts, StopWhenAsked) {
  const golden::Case golden = golden::load("tiny");
  GoldenModel<double> model(golden);
  backend::Arena<double> lanes(model.context, model.weights.layout(), 2);
  StoredMicrobatches microbatches = golden_microbatches(golden, 1);
  HessianVectorProduct<double> hessian(model.context, golden.model, false, 1, model.weights);
  int64_t told = 0;
  EXPECT_FALSE(hessian.apply(microbatches, lanes.all().worker_range(0, 1),
                             lanes.all().worker_range(1, 1), [&](int64_t done, int64_t total) {
                               told = done;
                               EXPECT_EQ(total, golden.sequences);
                               return false;
                             }));
  EXPECT_EQ(told, 1);
}

// Second differences of the loss along v: the error is a fourth derivative times step^2 / 12, plus
// the loss's rounding of 1e-16 over step^2. With a step of length 1e-3 about 3e-7 was observed.
TEST(QuadraticForms, AreSecondDifferencesOfTheLoss) {
  const golden::Case golden = golden::load("tiny");
  auto direction = golden::expected_parameters(golden, "direction.gaussian.");
  const double form = golden.scalars.at("vHv_gaussian").get<double>();
  const double norm =
      std::sqrt(std::inner_product(direction.begin(), direction.end(), direction.begin(), 0.0));
  const double step = 1e-3 / norm;
  const double second =
      (mean_loss_along(golden, direction, step) - 2 * mean_loss_along(golden, direction, 0) +
       mean_loss_along(golden, direction, -step)) /
      (step * step);
  EXPECT_NEAR(second / form, 1, 1e-5);
}

TEST_P(GoldenForms, StopWhenAskedAndLeaveWeightsAndDirections) {
  GoldenModel<float> model(golden_);
  backend::Arena<float> directions(model.context, model.weights.layout(), 2);
  const auto direction = golden::expected_parameters(golden_, "direction.rademacher.");
  golden::parameters_from_host(direction, directions, 0, 1);
  StoredMicrobatches microbatches = golden_microbatches(golden_, 1);
  const auto forms = make_quadratic_forms<float>(model.context, golden_.model, {.method = method_},
                                                 1, model.weights);
  const auto weights = golden::parameters_to_host(model.weights);
  int64_t calls = 0, last = 0, all = 0;
  const auto count_calls = [&](int64_t done, int64_t total) {
    ++calls;
    EXPECT_GT(done, last);
    last = done;
    all = total;
    return true;
  };
  const auto measured = forms->measure(microbatches, directions, 2, count_calls);
  ASSERT_TRUE(measured.has_value());
  EXPECT_EQ(measured->at(0), 0);  // of a direction that is zero
  EXPECT_EQ(last, all);
  EXPECT_GE(calls, golden_.sequences);
  EXPECT_EQ(golden::parameters_to_host(model.weights), weights);
  EXPECT_EQ(golden::parameters_to_host(directions, 0, 1), direction);

  calls = 0;
  EXPECT_FALSE(
      forms->measure(microbatches, directions, 2, [&](int64_t, int64_t) { return ++calls < 2; })
          .has_value());
  EXPECT_EQ(calls, 2);
  // A stopped measurement does not affect the next one.
  EXPECT_EQ(forms->measure(microbatches, directions, 2, go_on), measured);
}

// bfloat16 has 8 bits, and in models this narrow little of its rounding averages out: 5% was
// observed. The methods use the same rounded values, and agree up to float32 and the different
// roundings that it causes.
TEST(QuadraticForms, UnderAutocastStayNearThoseInFloat32) {
  const golden::Case golden = golden::load("tiny");
  for (size_t k = 0; k < kDirections.size(); ++k) {
    const double expected = golden.scalars.at("vHv_" + kDirections[k]).get<double>();
    const double reference =
        forms_of<float>(golden, {Method::kDoubleBackward, true}, golden.sequences)[k];
    EXPECT_NEAR(reference / expected, 1, 0.08);
    EXPECT_NE(reference, forms_of<float>(golden, {Method::kDoubleBackward}, golden.sequences)[k]);
    for (const Method method : kAllMethods) {
      const double form = forms_of<float>(golden, {method, true}, golden.sequences)[k];
      EXPECT_NEAR(form / reference, 1, 1e-3) << method_name(method) << " " << kDirections[k];
    }
  }
}

// The tangents of a direction are rows * (5 C + 2 F) numbers.
TEST(AdjointWeighted, TakesNoMoreMemoryThanItsDirectionsNeed) {
  const golden::Case golden = golden::load("tiny");
  GoldenModel<float> model(golden);
  backend::Arena<float> directions(model.context, model.weights.layout(), 3);
  for (int64_t k = 0; k < 3; ++k) {
    golden::parameters_from_host(golden::expected_parameters(golden, "direction.gaussian."),
                                 directions, 0, k);
  }
  StoredMicrobatches microbatches = golden_microbatches(golden, golden.sequences);
  const auto forms =
      make_quadratic_forms<float>(model.context, golden.model, {}, golden.sequences, model.weights);
  const auto one = forms->measure(microbatches, directions, 1, go_on).value();
  const int64_t before = model.context.memory().bytes_now;
  const auto three = forms->measure(microbatches, directions, 3, go_on).value();
  const int64_t more = model.context.memory().bytes_now - before;
  const int64_t lane = golden.sequences * golden.model.context_length *
                       (5 * golden.model.width + 2 * golden.model.ffn_width) *
                       static_cast<int64_t>(sizeof(float));
  EXPECT_GE(more, 2 * lane);
  EXPECT_LT(more, 3 * lane);
  EXPECT_EQ(three, std::vector<double>(3, one[0]));
  // The allocated memory is enough for fewer directions.
  EXPECT_EQ(forms->measure(microbatches, directions, 1, go_on).value(), one);
  EXPECT_EQ(model.context.memory().bytes_now, before + more);
}

TEST(Methods, HaveNames) {
  for (const Method method : kAllMethods) EXPECT_EQ(parse_method(method_name(method)), method);
  expect_error(ErrorKind::kUsage, {"'hvp'", "double-backward", "adjoint-weighted"},
               [] { parse_method("hvp"); });
}

}  // namespace
}  // namespace saddle::curvature
