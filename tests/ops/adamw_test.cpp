// AdamW over many steps against the formula in double.
#include "ops/adamw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/tensors.h"
#include "support/difference.h"
#include "support/expect_error.h"
#include "support/test_context.h"

namespace saddle::ops {
namespace {

constexpr int64_t kWorkers = 2;
constexpr int64_t kSize = 40000;  // more than one piece of work for a thread
// Decays, padding, does not decay, padding.
const std::vector<AdamWSegment> kSegments = {{0, 20001, true}, {20032, 19000, false}};
const std::vector<double> kScales = {1.0, 0.37};

template <class T>
struct State {
  Tensor<T> w, m, v;
};

template <class T>
State<T> begin(Context& context) {
  State<T> state{random_tensor<T>(context, kWorkers, 1, kSize, 1, 0.02),
                 Tensor<T>(context, kWorkers, 1, kSize), Tensor<T>(context, kWorkers, 1, kSize)};
  return state;
}

AdamWStep step_number(int64_t t) {
  return {.lr = 1e-3 * static_cast<double>(t),
          .beta1 = 0.9,
          .beta2 = 0.95,
          .eps = 1e-8,
          .weight_decay = 0.1,
          .step = t};
}

template <class T>
State<T> updated(Context& context, int64_t steps) {
  State<T> state = begin<T>(context);
  const Tensor<int32_t> pieces = adamw_pieces(context, kSegments);
  const Tensor<double> scales = per_worker(context, kScales), commit = per_worker(context, {1.0});
  for (int64_t t = 1; t <= steps; ++t) {
    const auto g = random_tensor<T>(context, kWorkers, 1, kSize, 100 + t, 1e-3);
    adamw_update<T>(context, step_number(t), pieces, {scales, commit}, g, state.w, state.m,
                    state.v);
  }
  return state;
}

struct Plain {
  std::vector<double> w, m, v;
};

// The formula as in the paper, number by number.
Plain plain(int64_t steps) {
  Context context = test_context(1);
  const State<double> first = begin<double>(context);
  Plain p{numbers_of<double>(context, first.w), numbers_of<double>(context, first.m),
          numbers_of<double>(context, first.v)};
  for (int64_t t = 1; t <= steps; ++t) {
    const auto g = numbers_of<double>(
        context, random_tensor<double>(context, kWorkers, 1, kSize, 100 + t, 1e-3).view());
    const AdamWStep step = step_number(t);
    for (int64_t n = 0; n < kWorkers; ++n) {
      for (const AdamWSegment& segment : kSegments) {
        for (int64_t j = segment.offset; j < segment.offset + segment.size; ++j) {
          const int64_t i = n * kSize + j;
          const double gradient = kScales[n] * g[i];
          p.m[i] = 0.9 * p.m[i] + 0.1 * gradient;
          p.v[i] = 0.95 * p.v[i] + 0.05 * gradient * gradient;
          const double m_hat = p.m[i] / (1 - std::pow(0.9, t));
          const double v_hat = p.v[i] / (1 - std::pow(0.95, t));
          const double decay = segment.decays ? 0.1 : 0.0;
          p.w[i] -= step.lr * (m_hat / (std::sqrt(v_hat) + 1e-8) + decay * p.w[i]);
        }
      }
    }
  }
  return p;
}

template <class T>
void expect_near(const std::vector<T>& found, const std::vector<double>& expected,
                 double tolerance) {
  EXPECT_LE(largest_difference(found, expected), tolerance);
}

TEST(AdamW, MatchesTheFormulaOverSeveralSteps) {
  Context context = test_context(2);
  const Plain expected = plain(6);
  const State<double> wide = updated<double>(context, 6);
  // Weights of size 0.1, moments of 1e-3 and 1e-5.
  expect_near(numbers_of<double>(context, wide.w), expected.w, 1e-15);
  expect_near(numbers_of<double>(context, wide.m), expected.m, 1e-17);
  expect_near(numbers_of<double>(context, wide.v), expected.v, 1e-19);
  const State<float> single = updated<float>(context, 6);
  expect_near(numbers_of<float>(context, single.w), expected.w, 1e-7);
  expect_near(numbers_of<float>(context, single.m), expected.m, 1e-9);
  expect_near(numbers_of<float>(context, single.v), expected.v, 1e-11);
}

TEST(AdamW, DoesNotChangePadding) {
  Context context = test_context(1);
  const auto before = numbers_of<float>(context, begin<float>(context).w);
  const State<float> state = updated<float>(context, 3);
  const auto w = numbers_of<float>(context, state.w);
  const auto v = numbers_of<float>(context, state.v);
  for (int64_t n = 0; n < kWorkers; ++n) {
    for (int64_t j = 0; j < kSize; ++j) {
      const bool padding = (j >= 20001 && j < 20032) || j >= 39032;
      const int64_t i = n * kSize + j;
      ASSERT_EQ(w[i] == before[i], padding) << j;
      ASSERT_EQ(v[i] == 0, padding) << j;
    }
  }
}

TEST(AdamW, DoesNotDependOnTheNumberOfThreads) {
  Context one(1), two(2);
  EXPECT_EQ(numbers_of<float>(two, updated<float>(two, 2).w),
            numbers_of<float>(one, updated<float>(one, 2).w));
}

// A list of pieces: offsets in units of 64 numbers, sizes, whether they decay.
TEST(AdamW, DividesSegmentsIntoPieces) {
  Context context = test_context(1);
  const std::vector<AdamWSegment> segments = {{64, 2 * kAdamWPiece + 5, true}, {32896, 1, false}};
  const Tensor<int32_t> pieces = adamw_pieces(context, segments);
  EXPECT_EQ(backend::to_host<int32_t>(context, pieces),
            (std::vector<int32_t>{1, 16384, 1, 257, 16384, 1, 513, 5, 1, 514, 1, 0}));
  const std::vector<AdamWSegment> unaligned = {{32, 5, true}};
  expect_error(ErrorKind::kInternal, {"adamw_pieces"}, [&] { adamw_pieces(context, unaligned); });
}

// With commit 0 nothing changes, whatever the gradients and scales are.
template <class T>
void expect_no_change_without_commit() {
  Context context = test_context(2);
  const State<T> state = updated<T>(context, 2);
  const auto all = [&] {
    return std::vector{numbers_of<T>(context, state.w), numbers_of<T>(context, state.m),
                       numbers_of<T>(context, state.v)};
  };
  const auto before = all();
  const auto g = random_tensor<T>(context, kWorkers, 1, kSize, 9);
  set_number<T>(context, g.view(), 1, 0, 7, std::numeric_limits<T>::quiet_NaN());
  const Tensor<int32_t> pieces = adamw_pieces(context, kSegments);
  const Tensor<double> scales = per_worker(context, {1.0, std::numeric_limits<double>::infinity()});
  const Tensor<double> commit = per_worker(context, {0.0});
  adamw_update<T>(context, step_number(3), pieces, {scales, commit}, g, state.w, state.m, state.v);
  EXPECT_EQ(all(), before);
}

TEST(AdamW, WithoutCommitNothingChanges) {
  expect_no_change_without_commit<float>();
  expect_no_change_without_commit<double>();
}

TEST(AdamW, RefusesShapesThatDoNotFit) {
  Context context = test_context(1);
  const State<float> state = begin<float>(context);
  const Tensor<int32_t> pieces = adamw_pieces(context, kSegments);
  const Tensor<double> one = per_worker(context, {1.0}), two = per_worker(context, kScales);
  const auto update = [&](View<const int32_t> list, AdamWInput input, View<const float> gradients) {
    adamw_update<float>(context, step_number(1), list, input, gradients, state.w, state.m, state.v);
  };
  expect_error(ErrorKind::kInternal, {"adamw", "scales"}, [&] {
    update(pieces, {one, one}, state.w);
  });
  expect_error(ErrorKind::kInternal, {"adamw", "flag"}, [&] {
    update(pieces, {two, two}, state.w);
  });
  expect_error(ErrorKind::kInternal, {"adamw", "pieces"}, [&] {
    update(pieces.view().column_range(0, 2), {two, one}, state.w);
  });
  expect_error(ErrorKind::kInternal, {"adamw", "arena"}, [&] {
    update(pieces, {two, one}, state.w.view().column_range(0, 5));
  });
}

// Steps of 1e-5 are 168 units in the last place of a float near 1: none may be lost.
TEST(AdamW, SmallStepsMoveEveryWeight) {
  Context context = test_context(1);
  constexpr int64_t kCount = 100;
  const Tensor<float> w(context, 1, 1, kCount), m(context, 1, 1, kCount), v(context, 1, 1, kCount),
      g(context, 1, 1, kCount);
  set_values<float>(context, w.view(), std::vector<float>(kCount, 1.0f));
  set_values<float>(context, g.view(), std::vector<float>(kCount, 0.3f));
  const std::vector<AdamWSegment> all = {{0, kCount, false}};
  const Tensor<int32_t> pieces = adamw_pieces(context, all);
  const Tensor<double> one = per_worker(context, {1.0});  // the scale, and the update may happen
  for (int64_t t = 1; t <= 100; ++t) {
    adamw_update<float>(context, {.lr = 1e-5, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .step = t},
                        pieces, {one, one}, g, w, m, v);
  }
  // With a constant gradient each step is exactly lr; each of 100 subtractions rounds by 3e-8.
  for (const float x : numbers_of<float>(context, w)) EXPECT_NEAR(x, 1 - 100 * 1e-5, 100 * 3e-8);
}

}  // namespace
}  // namespace saddle::ops
