// Properties of single row operations beyond the operations table: aliasing, exact values, scratch,
// and independence of the number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/elementwise.h"
#include "ops/embedding.h"
#include "ops/reduce.h"
#include "ops/rmsnorm.h"
#include "ops/rope.h"
#include "ops/swiglu.h"
#include "ops/tensors.h"
#include "support/difference.h"
#include "support/expect_error.h"
#include "support/test_context.h"

namespace saddle::ops {
namespace {

using num::Dual;
using num::Jet;

TEST(RmsNorm, MayWriteOverItsInput) {
  Context context = test_context(1);
  const auto x = random_tensor<Dual<float>>(context, 2, 5, 33, 1);
  const auto gain = random_tensor<Dual<float>>(context, 2, 1, 33, 2);
  const Tensor<Dual<float>> y(context, 2, 5, 33), r(context, 2, 5, 1);
  rmsnorm_forward<Dual<float>>(context, x, gain, 1e-5, y, r);
  rmsnorm_forward<Dual<float>>(context, x, gain, 1e-5, x, r);
  EXPECT_EQ(numbers_of<Dual<float>>(context, x), numbers_of<Dual<float>>(context, y));
}

TEST(ResidualRmsNorm, MayWriteOverItsInput) {
  Context context = test_context(1);
  const auto x = random_tensor<float>(context, 1, 5, 33, 1);
  const auto delta = random_tensor<float>(context, 1, 5, 33, 2);
  const auto gain = random_tensor<float>(context, 1, 1, 33, 3);
  const Tensor<float> sum(context, 1, 5, 33), y(context, 1, 5, 33), y2(context, 1, 5, 33),
      r(context, 1, 5, 1);
  residual_rmsnorm_forward<float>(context, x, delta, gain, 1e-5, sum, y, r);
  residual_rmsnorm_forward<float>(context, x, delta, gain, 1e-5, x, y2, r);
  EXPECT_EQ(numbers_of<float>(context, x), numbers_of<float>(context, sum));
  EXPECT_EQ(numbers_of<float>(context, y2), numbers_of<float>(context, y));
}

std::vector<float> rmsnorm_gradients(Context& context) {
  const auto x = random_tensor<float>(context, 1, 500, 40, 1);
  const auto gain = random_tensor<float>(context, 1, 1, 40, 2);
  const auto dy = random_tensor<float>(context, 1, 500, 40, 3);
  const Tensor<float> y(context, 1, 500, 40), r(context, 1, 500, 1), dx(context, 1, 500, 40),
      dgain(context, 1, 1, 40);
  rmsnorm_forward<float>(context, x, gain, 1e-5, y, r);
  rmsnorm_adjoint<float>(context, x, gain, r, dy, dx, dgain);
  std::vector<float> all = numbers_of<float>(context, dx);
  for (const float g : numbers_of<float>(context, dgain)) all.push_back(g);
  return all;
}

TEST(RmsNorm, DoesNotDependOnTheNumberOfThreads) {
  Context one(1), two(2), three(3);
  EXPECT_EQ(rmsnorm_gradients(two), rmsnorm_gradients(one));
  EXPECT_EQ(rmsnorm_gradients(three), rmsnorm_gradients(one));
}

TEST(RmsNorm, MeasuredScratchSuffices) {
  Context context = test_context(2);
  const auto x = random_tensor<float>(context, 1, 500, 40, 1);
  const auto gain = random_tensor<float>(context, 1, 1, 40, 2);
  const auto r = random_tensor<float>(context, 1, 500, 1, 3);
  const Tensor<float> dx(context, 1, 500, 40), dgain(context, 1, 1, 40);
  const auto adjoint = [&] { rmsnorm_adjoint<float>(context, x, gain, r, x, dx, dgain); };
  context.reserve_scratch(adjoint);
  const int64_t allocations = context.memory().allocations;
  const int64_t reserved = context.memory().bytes_now;
  adjoint();
  EXPECT_EQ(context.memory().allocations, allocations);
  EXPECT_EQ(context.memory().bytes_now, reserved);
}

TEST(SwiGlu, MayWriteItsGradientsOverItsInputs) {
  Context context = test_context(1);
  const auto both = random_tensor<Dual<float>>(context, 2, 5, 34, 1);
  const auto da = random_tensor<Dual<float>>(context, 2, 5, 17, 2);
  const View<Dual<float>> gate = both.view().column_range(0, 17);
  const View<Dual<float>> up = both.view().column_range(17, 17);
  const Tensor<Dual<float>> dgate(context, 2, 5, 17), dup(context, 2, 5, 17);
  swiglu_adjoint<Dual<float>>(context, gate, up, da, dgate, dup);
  swiglu_adjoint<Dual<float>>(context, gate, up, da, gate, up);
  EXPECT_EQ(numbers_of<Dual<float>>(context, gate), numbers_of<Dual<float>>(context, dgate));
  EXPECT_EQ(numbers_of<Dual<float>>(context, up), numbers_of<Dual<float>>(context, dup));
}

TEST(SwiGlu, IsFiniteFarFromZero) {
  Context context = test_context(1);
  const Tensor<Jet<float>> gate(context, 1, 1, 4), up(context, 1, 1, 4), a(context, 1, 1, 4);
  set_values<Jet<float>>(context, gate.view(), {1000, -1000, 1e30f, -1e30f});
  set_values<Jet<float>>(context, up.view(), {1, 1, 1, 1});
  for (int p = 1; p < 3; ++p) {
    const std::vector<float> ones(4, 1);
    backend::copy_from_host<Jet<float>>(context, ones.data(), p, gate.view());
  }
  swiglu_forward<Jet<float>>(context, gate, up, a);
  for (const float x : numbers_of<Jet<float>>(context, a)) EXPECT_TRUE(std::isfinite(x));
  EXPECT_EQ(number_at<num::Jet<float>>(context, a, 0, 0, 0).v, 1000);
  EXPECT_EQ(number_at<num::Jet<float>>(context, a, 0, 0, 0).d, 1);
  EXPECT_EQ(number_at<num::Jet<float>>(context, a, 0, 0, 1).v, 0);
}

TEST(Rope, TablesAreRoundedOnce) {
  Context context = test_context(1);
  const Tensor<float> cos(context, 1, 1024, 32), sin(context, 1, 1024, 32);
  rope_tables<float>(context, 10000, cos, sin);
  for (const int64_t t : {0, 1, 511, 1023}) {
    for (int64_t i = 0; i < 32; ++i) {
      const long double angle = t * std::pow(10000.0L, -static_cast<long double>(i) / 32);
      // Half a unit of a float, and the error of a double angle up to 1023.
      EXPECT_NEAR(number_at<float>(context, cos, 0, t, i), std::cos(angle), 3.1e-8)
          << t << " " << i;
      EXPECT_NEAR(number_at<float>(context, sin, 0, t, i), std::sin(angle), 3.1e-8)
          << t << " " << i;
    }
  }
}

// The result at every position against the formula in float64.
TEST(Rope, RotatesCorrectlyAtEveryPosition) {
  Context context = test_context(2);
  constexpr int64_t kPositions = 1024;
  constexpr int64_t kHalf = 32;
  const Tensor<float> cos(context, 1, kPositions, kHalf), sin(context, 1, kPositions, kHalf);
  rope_tables<float>(context, 10000, cos, sin);
  const auto x = random_tensor<float>(context, 1, kPositions, 4 * kHalf, 1);  // two heads
  const auto before = numbers_of<float>(context, x);
  rope_forward<float>(context, {cos.view(), sin.view()}, kPositions, x.view());
  const auto after = numbers_of<float>(context, x);
  // Half a unit of float (2^-24) each for the product and the sum, and half of that for the table.
  constexpr double kRounding = 2.5 * 0x1p-24;
  double worst = 0;
  for (int64_t t = 0; t < kPositions; ++t) {
    for (const int64_t head : {0, 1}) {
      for (int64_t i = 0; i < kHalf; ++i) {
        const double angle = static_cast<double>(t) * std::pow(10000.0, -i / 32.0);
        const int64_t at = (t * 2 + head) * 2 * kHalf + i;
        const double a = before[at], b = before[at + kHalf];
        const double first = a * std::cos(angle) - b * std::sin(angle);
        const double second = b * std::cos(angle) + a * std::sin(angle);
        const double error =
            std::max(std::abs(after[at] - first), std::abs(after[at + kHalf] - second));
        worst = std::max(worst, or_infinity(error / (std::abs(a) + std::abs(b))));
      }
    }
  }
  EXPECT_LE(worst, kRounding);
  EXPECT_GT(worst, 0);
}

// As for sequences shorter than the model's context: positions count from 0 in each of them.
TEST(Rope, UsesTheBeginningOfALongerTable) {
  Context context = test_context(1);
  constexpr int64_t kPositions = 5;
  const Tensor<double> cos(context, 1, 12, 1), sin(context, 1, 12, 1), x(context, 1, 15, 2);
  rope_tables<double>(context, 10000, cos, sin);  // one pair, which turns by 1 at each position
  fill<double>(context, 1, x.view());
  rope_forward<double>(context, {cos.view(), sin.view()}, kPositions, x.view());
  for (int64_t m = 0; m < 15; ++m) {
    const auto angle = static_cast<double>(m % kPositions);
    EXPECT_NEAR(number_at<double>(context, x, 0, m, 0), std::cos(angle) - std::sin(angle), 1e-15)
        << m;
    EXPECT_NEAR(number_at<double>(context, x, 0, m, 1), std::cos(angle) + std::sin(angle), 1e-15)
        << m;
  }
}

TEST(Rope, RefusesATableThatIsTooShort) {
  Context context = test_context(1);
  const Tensor<double> cos(context, 1, 4, 1), sin(context, 1, 4, 1), x(context, 1, 10, 2);
  expect_error(ErrorKind::kInternal, {"rope", "the table"}, [&] {
    rope_forward<double>(context, {cos.view(), sin.view()}, 5, x.view());
  });
  expect_error(ErrorKind::kInternal, {"rope", "x"}, [&] {
    rope_forward<double>(context, {cos.view(), sin.view()}, 4, x.view());
  });
}

// The dot product of a rotated query and a rotated key depends only on their distance.
TEST(Rope, DotProductsDependOnTheDistance) {
  Context context = test_context(1);
  const Tensor<double> cos(context, 1, 20, 4), sin(context, 1, 20, 4);
  rope_tables<double>(context, 100, cos, sin);
  const auto q_row = random_tensor<double>(context, 1, 1, 8, 1);
  const auto k_row = random_tensor<double>(context, 1, 1, 8, 2);
  const Tensor<double> q(context, 1, 20, 8), k(context, 1, 20, 8);
  for (int64_t t = 0; t < 20; ++t) {
    copy<double>(context, q_row, q.view().row_range(t, 1));
    copy<double>(context, k_row, k.view().row_range(t, 1));
  }
  rope_forward<double>(context, {cos.view(), sin.view()}, 20, q.view());
  rope_forward<double>(context, {cos.view(), sin.view()}, 20, k.view());
  const auto score = [&](int64_t t, int64_t s) {
    return read_dot<double>(context, q.view().row_range(t, 1), k.view().row_range(s, 1))[0];
  };
  for (int64_t t = 3; t < 20; ++t) EXPECT_NEAR(score(t, t - 3), score(3, 0), 1e-13);
  EXPECT_GT(std::abs(score(3, 0) - score(4, 0)), 1e-3);
}

TEST(Rope, AdjointRotatesBack) {
  Context context = test_context(2);
  const Tensor<float> cos(context, 1, 9, 3), sin(context, 1, 9, 3);
  rope_tables<float>(context, 100, cos, sin);
  const auto x = random_tensor<float>(context, 2, 18, 12, 1);
  const auto before = numbers_of<float>(context, x);
  rope_forward<float>(context, {cos.view(), sin.view()}, 9, x.view());
  EXPECT_NE(numbers_of<float>(context, x), before);
  rope_adjoint<float>(context, {cos.view(), sin.view()}, 9, x.view());
  const auto after = numbers_of<float>(context, x);
  for (size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-6);
}

TEST(RoundBf16, RoundsValuesAndKeepsDerivatives) {
  Context context = test_context(1);
  const auto x = random_tensor<Jet<float>>(context, 1, 3, 50, 1);
  const Tensor<Jet<float>> y(context, 1, 3, 50);
  const auto before = numbers_of<Jet<float>>(context, x);
  round_bf16<Jet<float>>(context, x, y);
  const auto after = numbers_of<Jet<float>>(context, y);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i], i < 150 ? num::round_to_bf16(before[i]) : before[i]);
  }
  round_bf16<Jet<float>>(context, x, x);
  EXPECT_EQ(numbers_of<Jet<float>>(context, x), after);
  const auto wide = random_tensor<double>(context, 1, 3, 50, 1);
  const Tensor<double> copied(context, 1, 3, 50);
  round_bf16<double>(context, wide, copied);
  EXPECT_EQ(numbers_of<double>(context, copied), numbers_of<double>(context, wide));
}

TEST(Elementwise, FillsAndCopiesEveryPlane) {
  Context context = test_context(2);
  const auto x = random_tensor<Dual<double>>(context, 2, 3, 40000, 1);
  const Tensor<Dual<double>> y(context, 2, 3, 40000);
  copy<Dual<double>>(context, x, y);
  EXPECT_EQ(numbers_of<Dual<double>>(context, y), numbers_of<Dual<double>>(context, x));
  fill<Dual<double>>(context, 2.5, y.view().column_range(1, 39999));
  const auto filled = numbers_of<Dual<double>>(context, y.view().column_range(1, 39999));
  const size_t size = filled.size() / 2;
  EXPECT_EQ(filled, [&] {
    std::vector<double> expected(2 * size, 0.0);
    std::fill(expected.begin(), expected.begin() + static_cast<int64_t>(size), 2.5);
    return expected;
  }());
  EXPECT_EQ(number_at<num::Dual<double>>(context, y, 1, 2, 0).t,
            number_at<num::Dual<double>>(context, x, 1, 2, 0).t);
}

TEST(Elementwise, SubtractsEveryPlane) {
  Context context = test_context(2);
  const auto x = random_tensor<Dual<double>>(context, 2, 3, 40000, 1);
  const auto y = random_tensor<Dual<double>>(context, 2, 3, 40000, 2);
  std::vector<double> expected = numbers_of<Dual<double>>(context, x);
  const std::vector<double> subtracted = numbers_of<Dual<double>>(context, y);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] -= subtracted[i];
  const Tensor<Dual<double>> z(context, 2, 3, 40000);
  subtract<Dual<double>>(context, x, y, z);
  EXPECT_EQ(numbers_of<Dual<double>>(context, z), expected);
  subtract<Dual<double>>(context, x, y, y);  // over one of its inputs
  EXPECT_EQ(numbers_of<Dual<double>>(context, y), expected);
}

TEST(Elementwise, ScalesAndAddsEveryPlane) {
  Context context = test_context(2);
  const auto x = random_tensor<Dual<double>>(context, 2, 3, 40000, 1);
  const auto y = random_tensor<Dual<double>>(context, 2, 3, 40000, 2);
  const std::vector<double> added = numbers_of<Dual<double>>(context, x);
  std::vector<double> expected = numbers_of<Dual<double>>(context, y);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += 0.25 * added[i];  // one rounding
  add_scaled<Dual<double>>(context, 0.25, x, y);
  EXPECT_EQ(numbers_of<Dual<double>>(context, y), expected);
  for (double& number : expected) number *= -3;
  scale<Dual<double>>(context, -3, y);
  EXPECT_EQ(numbers_of<Dual<double>>(context, y), expected);
}

TEST(Elementwise, RefusesShapesThatDoNotFit) {
  Context context = test_context(1);
  const Tensor<float> x(context, 1, 2, 3), y(context, 1, 3, 2);
  expect_error(ErrorKind::kInternal, {"copy"}, [&] { copy<float>(context, x, y); });
  expect_error(ErrorKind::kInternal, {"add_forward"},
               [&] { add_forward<float>(context, x, x, y); });
  expect_error(ErrorKind::kInternal, {"subtract"}, [&] { subtract<float>(context, x, y, x); });
  expect_error(ErrorKind::kInternal, {"dot"}, [&] { read_dot<float>(context, x, y); });
}

TEST(Embedding, AddsRepeatedTokensInTheOrderOfTheRows) {
  Context one(1), three(3);
  std::vector<std::vector<float>> results;
  for (Context* context : {&one, &three}) {
    const auto dy = random_tensor<float>(*context, 1, 200, 150, 1);
    const Tensor<float> dtable(*context, 1, 3, 150);
    const Tensor<int32_t> tokens(*context, 1, 200, 1);
    std::vector<int32_t> host(200);
    for (int i = 0; i < 200; ++i) host[i] = i % 2;
    set_values<int32_t>(*context, tokens.view(), host);
    embedding_adjoint<float>(*context, tokens, dy, dtable);
    results.push_back(numbers_of<float>(*context, dtable));
    float expected = 0;
    for (int i = 0; i < 200; i += 2) expected += number_at<float>(*context, dy, 0, i, 149);
    EXPECT_EQ(number_at<float>(*context, dtable, 0, 0, 149), expected);
    EXPECT_EQ(number_at<float>(*context, dtable, 0, 2, 149), 0);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(Reduce, SumsInDoubleForEachWorker) {
  Context context = test_context(2);
  const auto x = random_tensor<float>(context, 3, 4, 9001, 1);
  const auto y = random_tensor<float>(context, 3, 4, 9001, 2);
  const auto a = numbers_of<float>(context, x);
  const auto b = numbers_of<float>(context, y);
  const auto squares = read_sum_of_squares<float>(context, x);
  const auto dots = read_dot<float>(context, x, y);
  const auto sums = read_sum<float>(context, x);
  for (int64_t n = 0; n < 3; ++n) {
    long double square = 0, product = 0, total = 0;
    for (int64_t i = n * 36004; i < (n + 1) * 36004; ++i) {
      square += static_cast<long double>(a[i]) * a[i];
      product += static_cast<long double>(a[i]) * b[i];
      total += a[i];
    }
    // 36,004 additions in double, of numbers that sum to up to 36,004 and up to 400.
    EXPECT_NEAR(squares[n], square, 1e-9);
    EXPECT_NEAR(dots[n], product, 1e-11);
    EXPECT_NEAR(sums[n], total, 1e-11);
  }
}

TEST(Reduce, DoesNotDependOnTheNumberOfThreads) {
  Context one(1), two(2), three(3);
  const auto x = random_tensor<float>(one, 2, 3, 20000, 1);
  const auto y = random_tensor<float>(one, 2, 3, 20000, 2);
  for (Context* context : {&two, &three}) {
    EXPECT_EQ(read_dot<float>(*context, x, y), read_dot<float>(one, x, y));
    EXPECT_EQ(read_sum<float>(*context, x), read_sum<float>(one, x));
  }
}

TEST(Reduce, SeesEveryNonFiniteNumber) {
  Context context = test_context(2);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (const int64_t place : {0, 4095, 4096, 9000}) {
      const auto x = random_tensor<float>(context, 2, 1, 9001, 1);
      set_number<float>(context, x.view(), 1, 0, place, bad);
      const auto squares = read_sum_of_squares<float>(context, x);
      EXPECT_TRUE(std::isfinite(squares[0]));
      EXPECT_FALSE(std::isfinite(squares[1])) << bad << " at " << place;
    }
  }
}

// The square of a large float is finite in double.
TEST(Reduce, SquaresOfLargeNumbersAreFinite) {
  Context context = test_context(1);
  const Tensor<float> x(context, 1, 1, 2);
  set_values<float>(context, x.view(), {3e38f, 3e38f});
  EXPECT_NEAR(read_sum_of_squares<float>(context, x)[0] / 1.8e77, 1, 1e-6);
}

}  // namespace
}  // namespace saddle::ops
