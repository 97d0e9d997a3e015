// The head against linear and cross-entropy over stored logits, and cross-entropy's special cases.
#include "ops/output_head.h"

#include <gtest/gtest.h>

#include <omp.h>

#include <cmath>
#include <limits>

#include "ops/cross_entropy.h"
#include "ops/linear.h"
#include "ops/tensors.h"
#include "support/difference.h"
#include "support/expect_error.h"
#include "support/test_context.h"

namespace saddle::ops {
namespace {

using num::Dual;

constexpr int64_t kWorkers = 2;
constexpr int64_t kManyRows = kOutputHeadRows + 133;  // two chunks, the second one smaller
constexpr int64_t kWidth = 12;
constexpr int64_t kVocabulary = 41;
const std::vector<double> kWeights = {0.5, 0.25};

Tensor<int32_t> some_targets(Context& context, int64_t rows) {
  Tensor<int32_t> targets(context, kWorkers, rows, 1);
  std::vector<int32_t> host(kWorkers * rows);
  for (size_t i = 0; i < host.size(); ++i) {
    host[i] = i % 5 == 3 ? kIgnoredTarget : static_cast<int32_t>(i * 7 % kVocabulary);
  }
  set_values<int32_t>(context, targets.view(), host);
  return targets;
}

template <class S>
struct Results {
  std::vector<Plane<S>> losses, dx, dtable;
};

template <class S>
Results<S> head(Context& context, int64_t rows) {
  const auto x = random_tensor<S>(context, kWorkers, rows, kWidth, 1);
  const auto table = random_tensor<S>(context, kWorkers, kVocabulary, kWidth, 2);
  const auto dtable = random_tensor<S>(context, kWorkers, kVocabulary, kWidth, 3);
  const Tensor<int32_t> targets = some_targets(context, rows);
  const Tensor<S> losses(context, kWorkers, rows, 1), dx(context, kWorkers, rows, kWidth);
  output_head_loss_and_gradient<S>(context, x, table, targets, per_worker(context, kWeights),
                                   losses, dx, dtable);
  return {numbers_of<S>(context, losses), numbers_of<S>(context, dx),
          numbers_of<S>(context, dtable)};
}

template <class S>
Results<S> through_stored_logits(Context& context, int64_t rows) {
  const auto x = random_tensor<S>(context, kWorkers, rows, kWidth, 1);
  const auto table = random_tensor<S>(context, kWorkers, kVocabulary, kWidth, 2);
  const auto dtable = random_tensor<S>(context, kWorkers, kVocabulary, kWidth, 3);
  const Tensor<int32_t> targets = some_targets(context, rows);
  const Tensor<S> losses(context, kWorkers, rows, 1), lse(context, kWorkers, rows, 1),
      dx(context, kWorkers, rows, kWidth), z(context, kWorkers, rows, kVocabulary);
  linear_forward<S>(context, x, table, z);
  cross_entropy_forward<S>(context, z, targets, losses, lse);
  cross_entropy_adjoint<S>(context, z, targets, lse, per_worker(context, kWeights), z);
  linear_adjoint_input<S>(context, z, table, Store::kWrite, dx);
  linear_adjoint_weight<S>(context, x, z, dtable);
  return {numbers_of<S>(context, losses), numbers_of<S>(context, dx),
          numbers_of<S>(context, dtable)};
}

template <class T>
void expect_near(const std::vector<T>& found, const std::vector<T>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_LE(largest_difference(found, expected), tolerance);
}

template <class S>
void expect_matches_stored_logits(double tolerance) {
  Context context = test_context(2);
  for (const int64_t rows : {int64_t{1}, int64_t{129}, kManyRows}) {
    const Results<S> found = head<S>(context, rows);
    const Results<S> expected = through_stored_logits<S>(context, rows);
    expect_near(found.losses, expected.losses, tolerance);
    expect_near(found.dx, expected.dx, tolerance);
    expect_near(found.dtable, expected.dtable, tolerance);
  }
}

TEST(OutputHead, MatchesLinearAndCrossEntropy) {
  // Sums over up to 1157 rows in a different order, of numbers up to 100.
  expect_matches_stored_logits<double>(1e-12);
  expect_matches_stored_logits<Dual<double>>(1e-11);
  expect_matches_stored_logits<float>(2e-4);
}

// output_head_loss() uses a row of scratch for each thread of the context, whatever the number of
// the calling thread.
TEST(OutputHead, MayBeCalledByEveryThreadOfATeamWithItsOwnContext) {
  const auto losses_of = [] {
    Context context = test_context(1);
    const auto x = random_tensor<float>(context, kWorkers, kManyRows, kWidth, 1);
    const auto table = random_tensor<float>(context, kWorkers, kVocabulary, kWidth, 2);
    const Tensor<float> losses(context, kWorkers, kManyRows, 1);
    output_head_loss<float>(context, x, table, some_targets(context, kManyRows), losses);
    return numbers_of<float>(context, losses);
  };
  const std::vector<float> expected = losses_of();
#if !defined(__SANITIZE_THREAD__)  // which does not know the barriers of OpenMP
  std::vector<std::vector<float>> found(3);
#pragma omp parallel num_threads(3)
  found[static_cast<size_t>(omp_get_thread_num())] = losses_of();
  for (const std::vector<float>& losses : found) EXPECT_EQ(losses, expected);
#endif
}

// The gradient of the table accumulated over `calls` calls of `rows` rows each, as over the
// microbatches of an update. Numbers, targets and weights are the same for every type.
template <class T>
std::vector<double> table_gradient(int64_t calls, int64_t rows) {
  Context context = test_context(2);
  const auto table = random_tensor<float>(context, 1, kVocabulary, kWidth, 2);
  const Tensor<T> x(context, 1, rows, kWidth), typed_table(context, 1, kVocabulary, kWidth),
      dtable(context, 1, kVocabulary, kWidth), losses(context, 1, rows, 1),
      dx(context, 1, rows, kWidth);
  const Tensor<int32_t> targets(context, 1, rows, 1);
  const auto typed = [](const std::vector<float>& numbers) {
    return std::vector<T>(numbers.begin(), numbers.end());
  };
  set_values<T>(context, typed_table.view(), typed(numbers_of<float>(context, table)));
  set_values<T>(context, dtable.view(), std::vector<T>(kVocabulary * kWidth, 0));
  const Tensor<double> weights = per_worker(context, {1.0 / static_cast<double>(calls * rows)});
  for (int64_t call = 0; call < calls; ++call) {
    const auto numbers = random_tensor<float>(context, 1, rows, kWidth, 10 + call);
    set_values<T>(context, x.view(), typed(numbers_of<float>(context, numbers)));
    std::vector<int32_t> ids(rows);
    for (int64_t i = 0; i < rows; ++i) {
      ids[i] = static_cast<int32_t>((call * rows + i) * 7 % kVocabulary);
    }
    set_values<int32_t>(context, targets.view(), ids);
    output_head_loss_and_gradient<T>(context, x, typed_table, targets, weights, losses, dx, dtable);
  }
  const std::vector<T> found = numbers_of<T>(context, dtable);
  return {found.begin(), found.end()};
}

double relative_error(const std::vector<double>& found, const std::vector<double>& expected) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += (found.at(i) - expected[i]) * (found[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return or_infinity(std::sqrt(difference / size));
}

// With float, the sum over the rows of a chunk and the sum over chunks are in float. Each addition
// has an error of up to half a unit, 6e-8 of the sum so far; errors of both signs grow with the
// square root of their number: 32 for 1,024 of them, which is 2e-6.
TEST(OutputHead, TableGradientInFloatIsAccurateForAnyNumberOfChunks) {
  for (const int64_t rows : {1L, 100L, kOutputHeadRows, kOutputHeadRows + 1, 4 * kOutputHeadRows}) {
    EXPECT_LT(relative_error(table_gradient<float>(1, rows), table_gradient<double>(1, rows)), 2e-6)
        << rows << " rows";
  }
  for (const int64_t calls : {16, 1024}) {
    EXPECT_LT(relative_error(table_gradient<float>(calls, 8), table_gradient<double>(calls, 8)),
              2e-6)
        << calls << " calls";
  }
}

TEST(OutputHead, LossIsTheSameWithAndWithoutItsGradient) {
  Context context = test_context(1);
  const auto x = random_tensor<float>(context, kWorkers, kManyRows, kWidth, 1);
  const auto table = random_tensor<float>(context, kWorkers, kVocabulary, kWidth, 2);
  const Tensor<int32_t> targets = some_targets(context, kManyRows);
  const Tensor<float> losses(context, kWorkers, kManyRows, 1);
  output_head_loss<float>(context, x, table, targets, losses);
  EXPECT_EQ(numbers_of<float>(context, losses), head<float>(context, kManyRows).losses);
}

TEST(OutputHead, InDoubleDoesNotDependOnTheNumberOfThreads) {
  Context one(1), two(2);
  const auto expected = head<double>(one, kManyRows);
  const auto found = head<double>(two, kManyRows);
  EXPECT_EQ(found.losses, expected.losses);
  EXPECT_EQ(found.dx, expected.dx);
  EXPECT_EQ(found.dtable, expected.dtable);
}

TEST(OutputHead, MeasuredScratchSuffices) {
  for (const int threads : {1, 2, 3}) {  // 3: one worker at a time
    for (const int64_t rows : {int64_t{1}, kManyRows}) {
      for (const bool gradient : {false, true}) {
        Context context = test_context(threads);
        const auto x = random_tensor<float>(context, kWorkers, rows, kWidth, 1);
        const auto table = random_tensor<float>(context, kWorkers, kVocabulary, kWidth, 2);
        const Tensor<float> losses(context, kWorkers, rows, 1), dx(context, kWorkers, rows, kWidth),
            dtable(context, kWorkers, kVocabulary, kWidth);
        const Tensor<int32_t> targets = some_targets(context, rows);
        const Tensor<double> weights = per_worker(context, kWeights);
        const auto run = [&] {
          if (gradient) {
            output_head_loss_and_gradient<float>(context, x, table, targets, weights, losses, dx,
                                                 dtable);
          } else {
            output_head_loss<float>(context, x, table, targets, losses);
          }
        };
        context.reserve_scratch(run);
        const int64_t allocations = context.memory().allocations;
        const int64_t reserved = context.memory().bytes_now;
        run();
        EXPECT_EQ(context.memory().allocations, allocations) << threads << " " << rows << gradient;
        EXPECT_EQ(context.memory().bytes_now, reserved) << threads << " " << rows << gradient;
      }
    }
  }
}

// Each tile in turn holds the largest logit, and the exponentials of the others underflow. Relative
// to any other shift, e^800 exceeds the range of double.
TEST(OutputHead, TilesWithVeryDifferentLogitsAreMergedCorrectly) {
  Context context = test_context(1);
  constexpr int64_t kPieces = 3 * kOutputHeadColumns;
  const Tensor<float> x(context, 1, 3, 1), table(context, 1, kPieces, 1), losses(context, 1, 3, 1),
      dx(context, 1, 3, 1), dtable(context, 1, kPieces, 1);
  const Tensor<int32_t> targets(context, 1, 3, 1);
  // With x = 1 the logits are -400 in the first tile, 0 in the second, 400 in the last.
  std::vector<float> pieces(kPieces);
  for (int64_t v = 0; v < kPieces; ++v) {
    pieces[v] = 400.0f * static_cast<float>(v / kOutputHeadColumns - 1);
  }
  set_values<float>(context, table.view(), pieces);
  set_values<float>(context, x.view(), {1, -1, 0});
  set_values<int32_t>(context, targets.view(), {static_cast<int32_t>(kPieces) - 1, 0, 5});
  const Tensor<double> weight = per_worker(context, {1.0});
  output_head_loss_and_gradient<float>(context, x, table, targets, weight, losses, dx, dtable);
  const auto found = numbers_of<float>(context, losses);
  const double columns = static_cast<double>(kOutputHeadColumns);
  // Two rows have a uniform distribution over the columns of one tile, the third over all columns;
  // the spacing of floats at 400 is 3e-5.
  EXPECT_NEAR(found[0], std::log(columns), 1e-4);
  EXPECT_NEAR(found[1], std::log(columns), 1e-4);
  EXPECT_NEAR(found[2], std::log(3 * columns), 1e-6);
  for (const float d : numbers_of<float>(context, dtable)) EXPECT_TRUE(std::isfinite(d));
  // dz = 1 / columns over the last tile, minus 1 at the target.
  EXPECT_NEAR(number_at<float>(context, dx, 0, 0, 0), 0, 1e-2);
}

TEST(OutputHead, RefusesShapesThatDoNotFit) {
  Context context = test_context(1);
  const Tensor<float> x(context, 1, 4, 3), table(context, 1, 5, 3), losses(context, 1, 3, 1);
  const Tensor<int32_t> targets(context, 1, 4, 1);
  expect_error(ErrorKind::kInternal, {"output_head_loss", "losses"},
               [&] { output_head_loss<float>(context, x, table, targets, losses); });
}

class CrossEntropyTest : public ::testing::Test {
 protected:
  // One row of logits and its target: the loss and its gradient with weight 1.
  template <class S>
  std::pair<S, std::vector<Plane<S>>> row(const std::vector<Plane<S>>& logits, int32_t target) {
    Context context = test_context(1);
    const auto count = static_cast<int64_t>(logits.size());
    const Tensor<S> z(context, 1, 1, count), loss(context, 1, 1, 1), lse(context, 1, 1, 1);
    const Tensor<int32_t> targets(context, 1, 1, 1);
    set_values<S>(context, z.view(), logits);
    set_values<int32_t>(context, targets.view(), {target});
    cross_entropy_forward<S>(context, z, targets, loss, lse);
    cross_entropy_adjoint<S>(context, z, targets, lse, per_worker(context, {1.0}), z);
    return {number_at<S>(context, loss, 0, 0, 0), numbers_of<S>(context, z)};
  }
};

TEST_F(CrossEntropyTest, OfEqualLogitsIsTheLogarithmOfTheirNumber) {
  const auto [loss, dz] = row<double>(std::vector<double>(32000, 3.0), 17);
  EXPECT_NEAR(loss, std::log(32000.0), 1e-13);
  EXPECT_NEAR(dz[17], 1.0 / 32000 - 1, 1e-15);
  EXPECT_NEAR(dz[18], 1.0 / 32000, 1e-18);
}

TEST_F(CrossEntropyTest, OfHugeLogitsIsFinite) {
  const auto [certain, dz] = row<float>({3e4f, -3e4f, 0}, 0);
  EXPECT_EQ(certain, 0.0f);
  EXPECT_EQ(dz, (std::vector<float>{0, 0, 0}));
  const auto [wrong, dz_wrong] = row<float>({3e4f, -3e4f, 0}, 1);
  EXPECT_EQ(wrong, 6e4f);
  EXPECT_EQ(dz_wrong, (std::vector<float>{1, -1, 0}));
}

TEST_F(CrossEntropyTest, IgnoredTargetsHaveNoLossAndNoGradient) {
  const auto [loss, dz] = row<Dual<float>>({1, 2, 3}, kIgnoredTarget);
  EXPECT_EQ(loss.v, 0);
  EXPECT_EQ(loss.t, 0);
  EXPECT_EQ(dz, std::vector<float>(6, 0));
}

// Sums over a large vocabulary keep the precision of float: one more unit for the whole sum.
TEST_F(CrossEntropyTest, KeepsItsPrecisionOverALargeVocabulary) {
  std::vector<float> logits(65536);
  std::vector<double> wide(logits.size());
  const RandomStream stream(5, RandomPurpose::kTest);
  for (size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>(stream.normal(i));
    wide[i] = logits[i];
  }
  EXPECT_NEAR(row<float>(logits, 9).first, row<double>(wide, 9).first, 2e-6);
}

TEST_F(CrossEntropyTest, NanIsDetectedAtEveryPosition) {
  for (const size_t place : {0u, 1u, 40u, 98u}) {
    std::vector<float> logits(99, 0.5f);
    logits[place] = std::numeric_limits<float>::quiet_NaN();
    const auto [loss, dz] = row<float>(logits, 7);
    EXPECT_TRUE(std::isnan(loss)) << place;
    for (const float x : dz) EXPECT_TRUE(std::isnan(x)) << place;
  }
}

}  // namespace
}  // namespace saddle::ops
