// Operations over operands stored as bf16 against the same operations in double over the same
// numbers: their results are the bf16 numbers nearest to those in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "num/bf16.h"
#include "ops/attention.h"
#include "ops/attention_steps.h"
#include "ops/cross_entropy.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/output_head.h"
#include "ops/rmsnorm.h"
#include "ops/rope.h"
#include "ops/swiglu.h"
#include "ops/tensors.h"
#include "support/test_context.h"

namespace saddle::ops {
namespace {

using num::Bf16;
using Numbers = std::vector<double>;

template <class S>
Numbers doubles(Context& context, View<const S> view) {
  const auto numbers = numbers_of<S>(context, view);
  return {numbers.begin(), numbers.end()};
}

// Both have the same numbers, which bf16 holds if S does.
template <class S>
struct Pair {
  Pair(Context& context, int64_t rows, int64_t cols, uint64_t seed, double spread = 1)
      : stored(random_tensor<S>(context, kWorkers, rows, cols, seed, spread)),
        exact(context, kWorkers, rows, cols) {
    set_values<double>(context, exact, doubles<S>(context, stored));
  }
  static constexpr int64_t kWorkers = 2;
  Tensor<S> stored;
  Tensor<double> exact;
};

Numbers rounded(Numbers numbers) {
  for (double& x : numbers) x = num::round_to_bf16(static_cast<float>(x));
  return numbers;
}

void round_all(Context& context, View<double> view) {
  set_values<double>(context, view, rounded(doubles<double>(context, view)));
}

double largest(const Numbers& numbers) {
  double largest = 0;
  for (const double x : numbers) largest = std::max(largest, std::abs(x));
  return largest;
}

// Sums in float differ from those in double by 1e-6 of the largest number. Of the numbers that are
// so near to a tie some round to the other side.
void expect_nearest(Context& context, View<const Bf16> found, View<const double> exact,
                    const std::string& what, double tolerance = 1e-6) {
  const Numbers numbers = doubles<Bf16>(context, found);
  const Numbers expected = doubles<double>(context, exact);
  ASSERT_EQ(numbers.size(), expected.size()) << what;
  const double near = tolerance * largest(expected);
  int64_t others = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == num::round_to_bf16(static_cast<float>(expected[i]))) continue;
    ++others;
    ASSERT_LE(std::abs(numbers[i] - expected[i]), std::abs(expected[i]) / 256 + near)
        << what << ", number " << i << ": " << numbers[i] << " instead of " << expected[i];
  }
  EXPECT_LE(others, 1 + numbers.size() / 100) << what;
}

void expect_near(Context& context, View<const float> found, View<const double> exact,
                 const std::string& what, double tolerance = 2e-6) {
  const Numbers numbers = doubles<float>(context, found);
  const Numbers expected = doubles<double>(context, exact);
  ASSERT_EQ(numbers.size(), expected.size()) << what;
  const double near = tolerance * largest(expected);
  for (size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_NEAR(numbers[i], expected[i], near) << what << ", number " << i;
  }
}

TEST(Bf16Storage, StoreAsRoundsToNearest) {
  Context context = test_context(2);
  const Pair<float> x(context, 37, 65, 1);
  const Tensor<Bf16> y(context, 2, 37, 65);
  store_as<Bf16>(context, x.stored, y);
  EXPECT_EQ(doubles<Bf16>(context, y), rounded(doubles<double>(context, x.exact)));
  set_number<float>(context, x.stored, 1, 2, 3, std::numeric_limits<float>::quiet_NaN());
  store_as<Bf16>(context, x.stored, y);
  EXPECT_TRUE(std::isnan(number_at<Bf16>(context, y, 1, 2, 3)));
}

// Column ranges, several workers, sizes that are no multiples of a vector.
TEST(Bf16Storage, Linear) {
  Context context = test_context(2);
  for (const auto& [rows, in, out] : {std::tuple{1, 1, 1}, {37, 24, 40}, {130, 65, 33}}) {
    const Pair<Bf16> wide(context, rows, in + 16, 1), weight(context, out, in, 2),
        dy(context, rows, out, 3), dx(context, rows, in, 4);
    const Pair<float> dweight(context, out, in, 5);
    const View<Bf16> x = wide.stored.view().column_range(8, in);
    const View<double> exact_x = wide.exact.view().column_range(8, in);
    const Tensor<Bf16> y(context, 2, rows, out + 8);
    const Tensor<double> exact_y(context, 2, rows, out);
    const View<Bf16> columns = y.view().column_range(8, out);
    linear_forward<Bf16>(context, x, weight.stored, columns);
    linear_forward<double>(context, exact_x, weight.exact, exact_y);
    expect_nearest(context, columns, exact_y, "y");
    for (const Store store : {Store::kWrite, Store::kAccumulate}) {
      linear_adjoint_input<Bf16>(context, dy.stored, weight.stored, store, dx.stored);
      linear_adjoint_input<double>(context, dy.exact, weight.exact, store, dx.exact);
      expect_nearest(context, dx.stored, dx.exact, "dx");
      // The next product adds to the same numbers in both.
      set_values<double>(context, dx.exact, doubles<Bf16>(context, dx.stored));
    }
    linear_adjoint_weight<Bf16>(context, x, dy.stored, dweight.stored);
    linear_adjoint_weight<double>(context, exact_x, dy.exact, dweight.exact);
    expect_near(context, dweight.stored, dweight.exact, "dweight");
  }
}

TEST(Bf16Storage, Rmsnorm) {
  Context context = test_context(2);
  const int64_t rows = 37, cols = 70;
  const Pair<float> x(context, rows, cols, 1), gain(context, 1, cols, 2),
      stream(context, rows, cols, 3), dx(context, rows, cols, 4), dgain(context, 1, cols, 5);
  const Pair<Bf16> y(context, rows, cols, 6), delta(context, rows, cols, 7),
      dy(context, rows, cols, 8);
  const Pair<float> r(context, rows, 1, 9);
  rmsnorm_forward<Bf16>(context, x.stored, gain.stored, 1e-5, y.stored, r.stored);
  rmsnorm_forward<double>(context, x.exact, gain.exact, 1e-5, y.exact, r.exact);
  expect_nearest(context, y.stored, y.exact, "y");
  expect_near(context, r.stored, r.exact, "r");
  residual_rmsnorm_forward<Bf16>(context, x.stored, delta.stored, gain.stored, 1e-5, stream.stored,
                                 y.stored, r.stored);
  residual_rmsnorm_forward<double>(context, x.exact, delta.exact, gain.exact, 1e-5, stream.exact,
                                   y.exact, r.exact);
  expect_near(context, stream.stored, stream.exact, "x + delta");
  expect_nearest(context, y.stored, y.exact, "y of x + delta");
  const Tensor<Bf16> operand(context, 2, rows, cols);
  rmsnorm_adjoint<Bf16>(context, stream.stored, gain.stored, r.stored, dy.stored, dx.stored,
                        dgain.stored, operand);
  rmsnorm_adjoint<double>(context, stream.exact, gain.exact, r.exact, dy.exact, dx.exact,
                          dgain.exact);
  expect_near(context, dx.stored, dx.exact, "dx");
  expect_near(context, dgain.stored, dgain.exact, "dgain");
  expect_nearest(context, operand, dx.exact, "dx as an operand");
}

TEST(Bf16Storage, Swiglu) {
  Context context = test_context(2);
  const int64_t rows = 37, ffn = 43;
  const Pair<Bf16> gate_up(context, rows, 2 * ffn, 1, 3), da(context, rows, ffn, 2),
      a(context, rows, ffn, 3), d_gate_up(context, rows, 2 * ffn, 4);
  const auto gate = [&](auto& x) { return x.view().column_range(0, ffn); };
  const auto up = [&](auto& x) { return x.view().column_range(ffn, ffn); };
  swiglu_forward<Bf16>(context, gate(gate_up.stored), up(gate_up.stored), a.stored);
  swiglu_forward<double>(context, gate(gate_up.exact), up(gate_up.exact), a.exact);
  expect_nearest(context, a.stored, a.exact, "a");
  swiglu_adjoint<Bf16>(context, gate(gate_up.stored), up(gate_up.stored), da.stored,
                       gate(d_gate_up.stored), up(d_gate_up.stored));
  swiglu_adjoint<double>(context, gate(gate_up.exact), up(gate_up.exact), da.exact,
                         gate(d_gate_up.exact), up(d_gate_up.exact));
  expect_nearest(context, d_gate_up.stored, d_gate_up.exact, "dgate, dup");
}

TEST(Bf16Storage, Rope) {
  Context context = test_context(2);
  const int64_t positions = 19, head_size = 8, heads = 3;
  const Tensor<float> cos(context, 1, positions, head_size / 2), sin(context, 1, positions, 4);
  const Tensor<double> exact_cos(context, 1, positions, 4), exact_sin(context, 1, positions, 4);
  rope_tables<float>(context, 10'000, cos, sin);
  rope_tables<double>(context, 10'000, exact_cos, exact_sin);
  const Pair<Bf16> x(context, 2 * positions, heads * head_size, 1);
  const Pair<Bf16> dx(context, 2 * positions, heads * head_size, 2);
  rope_forward<Bf16>(context, {cos, sin}, positions, x.stored);
  rope_forward<double>(context, {exact_cos, exact_sin}, positions, x.exact);
  expect_nearest(context, x.stored, x.exact, "x");
  rope_adjoint<Bf16>(context, {cos, sin}, positions, dx.stored);
  rope_adjoint<double>(context, {exact_cos, exact_sin}, positions, dx.exact);
  expect_nearest(context, dx.stored, dx.exact, "dx");
}

// Between the steps the probabilities that multiply the values and the adjoints of the scores are
// rounded; a few of them to another side of a tie in float, and each of these changes the results
// by 2^-8 of its part in them, about a tenth.
TEST(Bf16Storage, Attention) {
  Context context = test_context(2);
  const AttentionShape shape{.sequences = 2, .positions = 150, .heads = 2, .head_size = 8};
  const int64_t rows = 300, cols = 16;
  const Pair<Bf16> q(context, rows, cols, 1), k(context, rows, cols, 2), v(context, rows, cols, 3),
      d_o(context, rows, cols, 4), o(context, rows, cols, 5), dq(context, rows, cols, 6),
      dk(context, rows, cols, 7), dv(context, rows, cols, 8);
  attention_forward<Bf16>(context, shape, q.stored, k.stored, v.stored, o.stored);
  attention_adjoint<Bf16>(context, shape, q.stored, k.stored, v.stored, d_o.stored, dq.stored,
                          dk.stored, dv.stored);
  const int64_t T = shape.positions;
  const Tensor<double> s(context, 2, 4 * T, T), p(context, 2, 4 * T, T), dp(context, 2, 4 * T, T);
  attention_scores_forward<double>(context, shape, q.exact, k.exact, s);
  causal_softmax_forward<double>(context, shape, s, s);
  copy<double>(context, s, p);
  round_all(context, p);
  attention_values_forward<double>(context, shape, p, v.exact, o.exact);
  attention_values_adjoint<double>(context, shape, p, v.exact, d_o.exact, dp, dv.exact);
  causal_softmax_adjoint<double>(context, shape, s, dp, dp);
  round_all(context, dp);
  attention_scores_adjoint<double>(context, shape, q.exact, k.exact, dp, dq.exact, dk.exact);
  expect_nearest(context, o.stored, o.exact, "o", 5e-4);
  expect_nearest(context, dq.stored, dq.exact, "dq", 5e-4);
  expect_nearest(context, dk.stored, dk.exact, "dk", 5e-4);
  expect_nearest(context, dv.stored, dv.exact, "dv", 5e-4);
}

// The logits and their adjoints are rounded; more of both than one chunk and one tile.
TEST(Bf16Storage, Head) {
  Context context = test_context(2);
  const int64_t rows = kOutputHeadRows + 30, width = 16, vocabulary = kOutputHeadColumns + 50;
  const Pair<Bf16> x(context, rows, width, 1), table(context, vocabulary, width, 2, 0.5),
      dx(context, rows, width, 3);
  const Pair<float> losses(context, rows, 1, 4), dtable(context, vocabulary, width, 5);
  Tensor<int32_t> targets(context, 2, rows, 1);
  std::vector<int32_t> tokens(2 * rows);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = i * 7919 % vocabulary;
  set_values<int32_t>(context, targets, tokens);
  Tensor<double> weights(context, 2, 1, 1);
  set_values<double>(context, weights, {0.5, 2});

  const Tensor<double> logits(context, 2, rows, vocabulary), lse(context, 2, rows, 1),
      dlogits(context, 2, rows, vocabulary);
  linear_forward<double>(context, x.exact, table.exact, logits);
  round_all(context, logits);
  cross_entropy_forward<double>(context, logits, targets, losses.exact, lse);
  cross_entropy_adjoint<double>(context, logits, targets, lse, weights, dlogits);
  round_all(context, dlogits);
  linear_adjoint_input<double>(context, dlogits, table.exact, Store::kWrite, dx.exact);
  linear_adjoint_weight<double>(context, x.exact, dlogits, dtable.exact);

  output_head_loss<Bf16>(context, x.stored, table.stored, targets, losses.stored);
  expect_near(context, losses.stored, losses.exact, "losses");
  fill<float>(context, 0, losses.stored);
  output_head_loss_and_gradient<Bf16>(context, x.stored, table.stored, targets, weights,
                                      losses.stored, dx.stored, dtable.stored);
  expect_near(context, losses.stored, losses.exact, "losses with gradients");
  expect_nearest(context, dx.stored, dx.exact, "dx");
  // One adjoint of a logit on the other side of a tie is 2^-8 of one of many terms.
  expect_near(context, dtable.stored, dtable.exact, "dtable", 1e-3);
}

// The same bits with every number of threads, and when repeated.
TEST(Bf16Storage, DoesNotDependOnTheNumberOfThreads) {
  const auto results = [](Context& context) {
    const AttentionShape shape{.sequences = 2, .positions = 150, .heads = 2, .head_size = 8};
    const Pair<Bf16> q(context, 300, 16, 1), k(context, 300, 16, 2), v(context, 300, 16, 3),
        weight(context, 16, 16, 4);
    const Tensor<Bf16> o(context, 2, 300, 16), dq(context, 2, 300, 16), dk(context, 2, 300, 16),
        dv(context, 2, 300, 16), y(context, 2, 300, 16);
    const Tensor<float> dweight(context, 2, 16, 16);
    fill<float>(context, 0, dweight);
    attention_forward<Bf16>(context, shape, q.stored, k.stored, v.stored, o);
    attention_adjoint<Bf16>(context, shape, q.stored, k.stored, v.stored, o, dq, dk, dv);
    linear_forward<Bf16>(context, dq, weight.stored, y);
    linear_adjoint_weight<Bf16>(context, y, dv, dweight);
    Numbers all = doubles<Bf16>(context, y);
    for (const View<const Bf16> more : {View<const Bf16>(dk), View<const Bf16>(dv)}) {
      const Numbers numbers = doubles<Bf16>(context, more);
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    const Numbers last = doubles<float>(context, dweight);
    all.insert(all.end(), last.begin(), last.end());
    return all;
  };
  Context one = test_context(1), two = test_context(2), three = test_context(3);
  const Numbers expected = results(one);
  EXPECT_EQ(results(one), expected);
  EXPECT_EQ(results(two), expected);
  EXPECT_EQ(results(three), expected);
}

}  // namespace
}  // namespace saddle::ops
