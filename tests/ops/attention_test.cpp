// Attention as one operation against its steps, and properties of its own.
#include "ops/attention.h"

#include <gtest/gtest.h>

#include "ops/attention_steps.h"
#include "ops/elementwise.h"
#include "ops/tensors.h"
#include "support/difference.h"
#include "support/expect_error.h"
#include "support/test_context.h"

namespace saddle::ops {
namespace {

using num::Dual;

// Two heads of 8 over 300 positions: three blocks of queries, the last one short.
constexpr AttentionShape kShape{.sequences = 2, .positions = 300, .heads = 2, .head_size = 8};
constexpr int64_t kRows = 600;
constexpr int64_t kCols = 16;

template <class S>
struct Results {
  std::vector<Plane<S>> o, dq, dk, dv;
};

template <class S>
Results<S> fused(Context& context, AttentionShape shape) {
  const auto q = random_tensor<S>(context, 1, kRows, kCols, 1);
  const auto k = random_tensor<S>(context, 1, kRows, kCols, 2);
  const auto v = random_tensor<S>(context, 1, kRows, kCols, 3);
  const auto d_o = random_tensor<S>(context, 1, kRows, kCols, 4);
  const Tensor<S> o(context, 1, kRows, kCols), dq(context, 1, kRows, kCols),
      dk(context, 1, kRows, kCols), dv(context, 1, kRows, kCols);
  attention_forward<S>(context, shape, q, k, v, o);
  attention_adjoint<S>(context, shape, q, k, v, d_o, dq, dk, dv);
  return {numbers_of<S>(context, o), numbers_of<S>(context, dq), numbers_of<S>(context, dk),
          numbers_of<S>(context, dv)};
}

template <class S>
Results<S> in_steps(Context& context, AttentionShape shape) {
  const auto q = random_tensor<S>(context, 1, kRows, kCols, 1);
  const auto k = random_tensor<S>(context, 1, kRows, kCols, 2);
  const auto v = random_tensor<S>(context, 1, kRows, kCols, 3);
  const auto d_o = random_tensor<S>(context, 1, kRows, kCols, 4);
  const Tensor<S> o(context, 1, kRows, kCols), dq(context, 1, kRows, kCols),
      dk(context, 1, kRows, kCols), dv(context, 1, kRows, kCols);
  const int64_t T = shape.positions;
  const int64_t rows = shape.sequences * shape.heads * T;
  const Tensor<S> s(context, 1, rows, T), ds(context, 1, rows, T);
  attention_scores_forward<S>(context, shape, q, k, s);
  causal_softmax_forward<S>(context, shape, s, s);
  // The probabilities that multiply the values may be rounded; the adjoint of the softmax takes the
  // unrounded p.
  const Tensor<S> p(context, 1, rows, T);
  if (shape.round_probabilities) {
    round_bf16<S>(context, s, p);
  } else {
    copy<S>(context, s, p);
  }
  attention_values_forward<S>(context, shape, p, v, o);
  attention_values_adjoint<S>(context, shape, p, v, d_o, ds, dv);
  causal_softmax_adjoint<S>(context, shape, s, ds, ds);
  attention_scores_adjoint<S>(context, shape, q, k, ds, dq, dk);
  return {numbers_of<S>(context, o), numbers_of<S>(context, dq), numbers_of<S>(context, dk),
          numbers_of<S>(context, dv)};
}

template <class T>
void expect_near(const std::vector<T>& found, const std::vector<T>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_LE(largest_difference(found, expected), tolerance);
}

// `of_values`: the tolerance of o and dv, the products of p with the values or their adjoints.
template <class S>
void expect_fused_matches_steps(AttentionShape shape, double tolerance, double of_values) {
  Context context = test_context(2);
  const Results<S> one = fused<S>(context, shape);
  const Results<S> steps = in_steps<S>(context, shape);
  expect_near(one.o, steps.o, of_values);
  expect_near(one.dq, steps.dq, tolerance);
  expect_near(one.dk, steps.dk, tolerance);
  expect_near(one.dv, steps.dv, of_values);
}
template <class S>
void expect_fused_matches_steps(AttentionShape shape, double tolerance) {
  expect_fused_matches_steps<S>(shape, tolerance, tolerance);
}

TEST(Attention, MatchesItsSteps) {
  // The same formulas with sums in another order: about ten roundings of numbers near 10.
  expect_fused_matches_steps<double>(kShape, 1e-13);
  expect_fused_matches_steps<Dual<double>>(kShape, 1e-12);
  expect_fused_matches_steps<float>(kShape, 2e-5);
  expect_fused_matches_steps<Dual<float>>(kShape, 1e-4);
}

// Only o and dv use rounded probabilities, so dq and dk agree as without rounding. Where sums
// differ in the last place, a probability may round to the other side, a step of 2^-8 to 2^-7 of
// it, in about one of 10^4 probabilities of this size; the largest of those is about 0.1,
// multiplied by a value near 4.
TEST(Attention, RoundsProbabilitiesLikeItsSteps) {
  AttentionShape shape = kShape;
  shape.round_probabilities = true;
  expect_fused_matches_steps<float>(shape, 2e-5, 2e-3);
  expect_fused_matches_steps<double>(shape, 1e-13);  // rounds nothing

  Context context = test_context(1);
  const std::vector<float> rounded = fused<float>(context, shape).o;
  const std::vector<float> exact = fused<float>(context, kShape).o;
  const double largest = largest_difference(rounded, exact);
  EXPECT_GT(largest, 1e-4);  // it does round
  EXPECT_LE(largest, 0.02);  // by 2^-9 of a mean of values near 4
}

// Heads are separate tasks; within a task the order of every sum is fixed.
TEST(Attention, DoesNotDependOnTheNumberOfThreads) {
  Context one(1), two(2), three(3);
  const auto expected = fused<Dual<double>>(one, kShape);
  for (Context* context : {&two, &three}) {
    const auto found = fused<Dual<double>>(*context, kShape);
    EXPECT_EQ(found.o, expected.o);
    EXPECT_EQ(found.dq, expected.dq);
    EXPECT_EQ(found.dk, expected.dk);
    EXPECT_EQ(found.dv, expected.dv);
  }
}

TEST(Attention, SeesNoKeyAfterItsQuery) {
  Context context = test_context(1);
  const AttentionShape shape{.sequences = 1, .positions = 200, .heads = 1, .head_size = 4};
  const auto q = random_tensor<float>(context, 1, 200, 4, 1);
  const auto k = random_tensor<float>(context, 1, 200, 4, 2);
  const auto v = random_tensor<float>(context, 1, 200, 4, 3);
  const Tensor<float> o(context, 1, 200, 4);
  attention_forward<float>(context, shape, q, k, v, o);
  const auto before = numbers_of<float>(context, o.view().row_range(0, 150));
  const auto after = numbers_of<float>(context, o.view().row_range(150, 50));
  randomize<float>(context, k.view().row_range(150, 50), 7);
  randomize<float>(context, v.view().row_range(150, 50), 8);
  attention_forward<float>(context, shape, q, k, v, o);
  EXPECT_EQ(numbers_of<float>(context, o.view().row_range(0, 150)), before);
  EXPECT_NE(numbers_of<float>(context, o.view().row_range(150, 50)), after);
}

// q, k and v, and also their adjoints, as column ranges of one tensor, as a fused projection makes
// them.
TEST(Attention, TakesColumnRangesOfOneTensor) {
  Context context = test_context(1);
  const auto expected = fused<float>(context, kShape);
  const Tensor<float> qkv(context, 1, kRows, 3 * kCols), d_qkv(context, 1, kRows, 3 * kCols);
  const Tensor<float> o(context, 1, kRows, kCols);
  const auto d_o = random_tensor<float>(context, 1, kRows, kCols, 4);
  const auto part = [](const Tensor<float>& x, int64_t i) {
    return x.view().column_range(i * kCols, kCols);
  };
  for (int i = 0; i < 3; ++i) randomize<float>(context, part(qkv, i), i + 1);
  attention_forward<float>(context, kShape, part(qkv, 0), part(qkv, 1), part(qkv, 2), o);
  attention_adjoint<float>(context, kShape, part(qkv, 0), part(qkv, 1), part(qkv, 2), d_o,
                           part(d_qkv, 0), part(d_qkv, 1), part(d_qkv, 2));
  // The library may add in a different order for different strides.
  expect_near(numbers_of<float>(context, o), expected.o, 1e-5);
  expect_near(numbers_of<float>(context, part(d_qkv, 0)), expected.dq, 1e-5);
  expect_near(numbers_of<float>(context, part(d_qkv, 1)), expected.dk, 1e-5);
  expect_near(numbers_of<float>(context, part(d_qkv, 2)), expected.dv, 1e-5);
}

TEST(Attention, MeasuredScratchSuffices) {
  Context context = test_context(2);
  const auto x = random_tensor<float>(context, 1, kRows, kCols, 1);
  const Tensor<float> o(context, 1, kRows, kCols), dq(context, 1, kRows, kCols),
      dk(context, 1, kRows, kCols), dv(context, 1, kRows, kCols);
  const auto both = [&] {
    attention_forward<float>(context, kShape, x, x, x, o);
    attention_adjoint<float>(context, kShape, x, x, x, x, dq, dk, dv);
  };
  context.reserve_scratch(both);
  const int64_t allocations = context.memory().allocations;
  const int64_t reserved = context.memory().bytes_now;
  both();
  EXPECT_EQ(context.memory().allocations, allocations);
  EXPECT_EQ(context.memory().bytes_now, reserved);
}

// The exponentials are relative to the largest score: e^1000 would be infinite.
TEST(CausalSoftmax, IsFiniteWhereverTheLargestScoreIs) {
  Context context = test_context(1);
  constexpr int64_t kKeys = 70;
  const AttentionShape shape{.sequences = 1, .positions = kKeys, .heads = 1, .head_size = 2};
  const Tensor<float> p(context, 1, kKeys, kKeys);
  for (int64_t key = 0; key < kKeys; ++key) {
    fill<float>(context, 0, p.view());
    fill<float>(context, 1000, p.view().column_range(key, 1));
    causal_softmax_forward<float>(context, shape, p, p);
    const std::vector<float> found = numbers_of<float>(context, p);
    for (int64_t t = key; t < kKeys; ++t) {
      for (int64_t k = 0; k < kKeys; ++k) {
        ASSERT_EQ(found[t * kKeys + k], k == key ? 1 : 0) << "row " << t << ", key " << key;
      }
    }
  }
}

TEST(Attention, RefusesShapesThatDoNotFit) {
  Context context = test_context(1);
  const Tensor<float> x(context, 1, kRows, kCols), narrow(context, 1, kRows, kCols - 1);
  expect_error(ErrorKind::kInternal, {"attention"},
               [&] { attention_forward<float>(context, kShape, x, narrow, x, x); });
}

}  // namespace
}  // namespace saddle::ops
