// The second-order sweeps against the forwards over jets: tangents, and <dy, y''>. They share the
// row functions but not the algebra of products, attention and head.
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/attention_second_order.h"
#include "ops/attention_steps.h"
#include "ops/cross_entropy.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/output_head_second_order.h"
#include "ops/reduce.h"
#include "ops/rmsnorm.h"
#include "ops/swiglu.h"
#include "ops/tensors.h"
#include "support/difference.h"
#include "support/test_context.h"

namespace saddle::ops {
namespace {

using num::Jet;

constexpr int64_t kDirections = 3;

template <class A>
double relative_difference(const std::vector<A>& found, const std::vector<A>& expected) {
  double largest = 0;
  for (const A x : expected) largest = std::max(largest, std::abs(static_cast<double>(x)));
  return largest_difference(found, expected) / largest;
}

// A tensor [1, rows, cols] and its tangents [G, rows, cols].
template <class T>
struct Moving {
  Moving(Context& context, int64_t rows, int64_t cols, uint64_t seed, double spread = 1)
      : value(random_tensor<T>(context, 1, rows, cols, seed, spread)),
        tangents(random_tensor<T>(context, kDirections, rows, cols, seed + 100, spread)) {}

  // As jets of one worker per direction.
  Tensor<Jet<double>> jets(Context& context) const {
    const View<T> v = value.view();
    Tensor<Jet<double>> all(context, kDirections, v.rows(), v.cols());
    const std::vector<T> values = numbers_of<T>(context, v);
    std::vector<double> repeated;
    for (int64_t g = 0; g < kDirections; ++g) {
      repeated.insert(repeated.end(), values.begin(), values.end());
    }
    backend::copy_from_host<Jet<double>>(context, repeated.data(), 0, all.view());
    const std::vector<T> moves = numbers_of<T>(context, tangents.view());
    const std::vector<double> wide(moves.begin(), moves.end());
    backend::copy_from_host<Jet<double>>(context, wide.data(), 1, all.view());
    return all;
  }

  Tensor<T> value, tangents;
};

// <dy, y''> for each direction; dy [1, rows, cols].
template <class T>
std::vector<double> terms_of(Context& context, View<const Jet<double>> y, View<const T> dy) {
  const std::vector<T> adjoint = backend::to_host<T>(context, dy);
  std::vector<double> second(y.size());
  backend::copy_to_host<Jet<double>>(context, y, 2, second.data());
  std::vector<double> terms(kDirections);
  for (size_t i = 0; i < second.size(); ++i) {
    terms[i / adjoint.size()] += second[i] * static_cast<double>(adjoint[i % adjoint.size()]);
  }
  return terms;
}

template <class T>
void expect_tangents(Context& context, View<const T> y_t, View<const Jet<double>> y,
                     double tolerance) {
  std::vector<double> expected(y.size());
  backend::copy_to_host<Jet<double>>(context, y, 1, expected.data());
  const std::vector<T> found = backend::to_host<T>(context, y_t);
  EXPECT_LT(relative_difference(std::vector<double>(found.begin(), found.end()), expected),
            tolerance);
}

void expect_terms(const std::vector<double>& found, const std::vector<double>& expected,
                  double tolerance) {
  for (size_t g = 0; g < expected.size(); ++g) {
    // The terms are sums with cancellation, so errors are relative to their size over all
    // directions.
    double largest = 0;
    for (const double term : expected) largest = std::max(largest, std::abs(term));
    EXPECT_NEAR(found[g], expected[g], tolerance * largest) << "direction " << g;
  }
}

// Rounding: a few hundred operations per number in the tangents, and in the terms a sum of
// thousands of them with cancellation.
template <class T>
constexpr double kTolerance = std::is_same_v<T, float> ? 2e-5 : 1e-12;

template <class T>
class SecondOrder : public testing::Test {
 protected:
  Context context_ = test_context(2);
  // The terms that a sweep added to `kOld`.
  std::vector<double> forms() {
    std::vector<double> terms = backend::to_host<double>(context_, forms_.view());
    for (double& term : terms) term -= kOld;
    return terms;
  }
  static constexpr double kOld = 0.25;
  Tensor<double> forms_ = per_worker(context_, std::vector<double>(kDirections, kOld));
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(SecondOrder, Reals);

TYPED_TEST(SecondOrder, Linear) {
  using T = TypeParam;
  Context& context = this->context_;
  const Moving<T> x(context, 37, 24, 1), weight(context, 19, 24, 2);
  const auto dy = random_tensor<T>(context, 1, 37, 19, 3);
  const Tensor<T> y_t(context, kDirections, 37, 19);
  linear_second_order<T>(context, x.value, weight.value, dy, x.tangents, weight.tangents,
                         y_t.view(), this->forms_);

  const Tensor<Jet<double>> y(context, kDirections, 37, 19);
  linear_forward<Jet<double>>(context, x.jets(context), weight.jets(context), y.view());
  expect_tangents<T>(context, y_t, y, kTolerance<T>);
  expect_terms(this->forms(), terms_of<T>(context, y, dy), kTolerance<T>);
}

TYPED_TEST(SecondOrder, Rmsnorm) {
  using T = TypeParam;
  Context& context = this->context_;
  const Moving<T> x(context, 21, 40, 1), gain(context, 1, 40, 2);
  const auto dy = random_tensor<T>(context, 1, 21, 40, 3);
  const Tensor<T> y_t(context, kDirections, 21, 40);
  rmsnorm_second_order<T>(context, x.value, gain.value, 1e-3, dy, x.tangents, gain.tangents,
                          y_t.view(), this->forms_);

  const Tensor<Jet<double>> y(context, kDirections, 21, 40), r(context, kDirections, 21, 1);
  rmsnorm_forward<Jet<double>>(context, x.jets(context), gain.jets(context), 1e-3, y.view(),
                               r.view());
  expect_tangents<T>(context, y_t, y, kTolerance<T>);
  expect_terms(this->forms(), terms_of<T>(context, y, dy), kTolerance<T>);
}

TYPED_TEST(SecondOrder, Swiglu) {
  using T = TypeParam;
  Context& context = this->context_;
  const Moving<T> gate(context, 21, 40, 1), up(context, 21, 40, 2);
  const auto da = random_tensor<T>(context, 1, 21, 40, 3);
  const Tensor<T> a_t(context, kDirections, 21, 40);
  swiglu_second_order<T>(context, gate.value, up.value, da, gate.tangents, up.tangents, a_t.view(),
                         this->forms_);

  const Tensor<Jet<double>> a(context, kDirections, 21, 40);
  swiglu_forward<Jet<double>>(context, gate.jets(context), up.jets(context), a.view());
  expect_tangents<T>(context, a_t, a, kTolerance<T>);
  expect_terms(this->forms(), terms_of<T>(context, a, da), kTolerance<T>);
}

// Two heads of 8 over 150 positions: a whole block of queries and a smaller one.
TYPED_TEST(SecondOrder, Attention) {
  using T = TypeParam;
  Context& context = this->context_;
  const AttentionShape shape{.sequences = 2, .positions = 150, .heads = 2, .head_size = 8};
  const int64_t rows = 300, cols = 16;
  const Moving<T> q(context, rows, cols, 1), k(context, rows, cols, 2), v(context, rows, cols, 3);
  const auto d_o = random_tensor<T>(context, 1, rows, cols, 4);
  const Tensor<T> o_t(context, kDirections, rows, cols);
  attention_second_order<T>(context, shape, q.value, k.value, v.value, d_o, q.tangents, k.tangents,
                            v.tangents, o_t.view(), this->forms_);

  // In steps that store all scores.
  const int64_t score_rows = shape.sequences * shape.heads * shape.positions;
  const Tensor<Jet<double>> s(context, kDirections, score_rows, shape.positions),
      o(context, kDirections, rows, cols);
  attention_scores_forward<Jet<double>>(context, shape, q.jets(context), k.jets(context), s.view());
  causal_softmax_forward<Jet<double>>(context, shape, s.view(), s.view());
  attention_values_forward<Jet<double>>(context, shape, s.view(), v.jets(context), o.view());
  expect_tangents<T>(context, o_t, o, kTolerance<T>);
  expect_terms(this->forms(), terms_of<T>(context, o, d_o), kTolerance<T>);
}

// Under autocast the probabilities that multiply the values are rounded, with derivative 1; there
// is no rounding in double.
TYPED_TEST(SecondOrder, AttentionWithRoundedProbabilities) {
  using T = TypeParam;
  Context& context = this->context_;
  const AttentionShape shape{
      .sequences = 1, .positions = 20, .heads = 1, .head_size = 8, .round_probabilities = true};
  const Moving<T> q(context, 20, 8, 1), k(context, 20, 8, 2), v(context, 20, 8, 3);
  const auto d_o = random_tensor<T>(context, 1, 20, 8, 4);
  const Tensor<T> o_t(context, kDirections, 20, 8);
  attention_second_order<T>(context, shape, q.value, k.value, v.value, d_o, q.tangents, k.tangents,
                            v.tangents, o_t.view(), this->forms_);

  // Over jets of T, because only values of float are rounded.
  const auto jets = [&](const Moving<T>& moving) {
    Tensor<Jet<T>> all(context, kDirections, 20, 8);
    copy<T>(context, moving.value.view().repeat(kDirections), all.view().plane(0));
    copy<T>(context, moving.tangents.view(), all.view().plane(1));
    return all;
  };
  const Tensor<Jet<T>> s(context, kDirections, 20, 20), o(context, kDirections, 20, 8);
  attention_scores_forward<Jet<T>>(context, shape, jets(q), jets(k), s.view());
  causal_softmax_forward<Jet<T>>(context, shape, s.view(), s.view());
  if constexpr (std::is_same_v<T, float>) round_bf16<Jet<T>>(context, s.view(), s.view());
  attention_values_forward<Jet<T>>(context, shape, s.view(), jets(v), o.view());
  const std::vector<T> expected = numbers_of<T>(context, o.view().plane(1));
  // Both sides are the same sums in a different order: the adjoint does not round do v^T, which
  // multiplies the softmax's part.
  const double tolerance = std::is_same_v<T, float> ? 1e-5 : 1e-12;
  EXPECT_LT(relative_difference(numbers_of<T>(context, o_t.view()), expected), tolerance);
  const std::vector<T> second = numbers_of<T>(context, o.view().plane(2));
  const std::vector<T> adjoint = numbers_of<T>(context, d_o.view());
  std::vector<double> terms(kDirections);
  for (size_t i = 0; i < second.size(); ++i) {
    terms[i / adjoint.size()] +=
        static_cast<double>(second[i]) * static_cast<double>(adjoint[i % adjoint.size()]);
  }
  expect_terms(this->forms(), terms, tolerance);
}

// More rows than one chunk holds, more columns than one tile, one ignored target.
TYPED_TEST(SecondOrder, Head) {
  using T = TypeParam;
  Context& context = this->context_;
  const int64_t rows = kOutputHeadRows + 9, cols = 8, vocabulary = kOutputHeadColumns + 70;
  const double weight = 1.0 / 700;
  const Moving<T> x(context, rows, cols, 1, 0.7), table(context, vocabulary, cols, 2, 0.7);
  std::vector<int32_t> ids(rows);
  for (int64_t m = 0; m < rows; ++m) ids[m] = static_cast<int32_t>(m * 37 % vocabulary);
  ids[5] = kIgnoredTarget;
  const Tensor<int32_t> targets(context, 1, rows, 1);
  backend::copy_from_host<int32_t>(context, ids.data(), 0, targets.view());
  output_head_second_order<T>(context, x.value, table.value, targets, weight, x.tangents,
                              table.tangents, this->forms_);

  std::vector<int32_t> repeated;
  for (int64_t g = 0; g < kDirections; ++g) repeated.insert(repeated.end(), ids.begin(), ids.end());
  const Tensor<int32_t> all_targets(context, kDirections, rows, 1);
  backend::copy_from_host<int32_t>(context, repeated.data(), 0, all_targets.view());
  const Tensor<Jet<double>> losses(context, kDirections, rows, 1);
  output_head_loss<Jet<double>>(context, x.jets(context), table.jets(context), all_targets,
                                losses.view());
  const std::vector<num::Wide<Jet<double>>> sums = read_sum<Jet<double>>(context, losses.view());
  // The second derivatives of x and E are zero, so this is the whole second-order part.
  std::vector<double> expected;
  for (const auto& loss : sums) expected.push_back(weight * loss.dd);
  expect_terms(this->forms(), expected, kTolerance<T>);
}

}  // namespace
}  // namespace saddle::ops
