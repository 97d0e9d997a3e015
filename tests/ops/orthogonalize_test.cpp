// A step of Gram-Schmidt against plain loops.
#include "ops/orthogonalize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/tensors.h"
#include "support/expect_error.h"
#include "support/test_context.h"

namespace saddle::ops {
namespace {

// An orthonormal basis [count, 1, size] of T, in plain loops of double.
template <class T>
std::vector<T> orthonormal(int64_t count, int64_t size) {
  std::vector<double> all(static_cast<size_t>(count * size));
  const RandomStream stream(5, RandomPurpose::kTest);
  for (size_t i = 0; i < all.size(); ++i) all[i] = stream.normal(i);
  for (int64_t j = 0; j < count; ++j) {
    double* b = all.data() + j * size;
    for (int twice = 0; twice < 2; ++twice) {
      for (int64_t k = 0; k < j; ++k) {
        const double* other = all.data() + k * size;
        double along = 0;
        for (int64_t i = 0; i < size; ++i) along += b[i] * other[i];
        for (int64_t i = 0; i < size; ++i) b[i] -= along * other[i];
      }
    }
    double square = 0;
    for (int64_t i = 0; i < size; ++i) square += b[i] * b[i];
    for (int64_t i = 0; i < size; ++i) b[i] /= std::sqrt(square);
  }
  return {all.begin(), all.end()};
}

template <class T>
std::vector<T> orthogonalized(Context& context, int64_t count, int64_t size) {
  const Tensor<T> basis(context, count, 1, size);
  set_values<T>(context, basis.view(), orthonormal<T>(count, size));
  const Tensor<T> y = random_tensor<T>(context, 1, 1, size, 9);
  orthogonalize<T>(context, basis, y.view());
  return numbers_of<T>(context, y);
}

template <class T>
void compare_with_plain_loops(double tolerance) {
  Context context = test_context(2);
  for (const int64_t count : {1, 2, 5}) {
    for (const int64_t size : {5, 512, 513, 9001}) {
      const std::vector<T> b = orthonormal<T>(count, size);
      const std::vector<T> y =
          numbers_of<T>(context, random_tensor<T>(context, 1, 1, size, 9).view());
      std::vector<long double> along(static_cast<size_t>(count));
      for (int64_t j = 0; j < count; ++j) {
        for (int64_t i = 0; i < size; ++i) {
          along[j] += static_cast<long double>(b[j * size + i]) * y[i];
        }
      }
      const std::vector<T> found = orthogonalized<T>(context, count, size);
      for (int64_t i = 0; i < size; ++i) {
        long double expected = y[i];
        for (int64_t j = 0; j < count; ++j) expected -= along[j] * b[j * size + i];
        ASSERT_NEAR(found[i], static_cast<double>(expected), tolerance)
            << count << " directions, number " << i << " of " << size;
      }
    }
  }
}

// Numbers up to 5: the result is rounded once (2^-24 and 2^-53 of it); sums are in double.
TEST(Orthogonalize, MatchesPlainLoops) {
  compare_with_plain_loops<float>(2.5e-7);
  compare_with_plain_loops<double>(5e-15);
}

TEST(Orthogonalize, TwiceLeavesNothingAlongTheBasis) {
  Context context = test_context(2);
  constexpr int64_t kCount = 4, kSize = 3000;
  const Tensor<double> basis(context, kCount, 1, kSize);
  set_values<double>(context, basis.view(), orthonormal<double>(kCount, kSize));
  // Almost inside the span of the basis.
  const Tensor<double> y = random_tensor<double>(context, 1, 1, kSize, 9, 1e-6);
  for (int64_t j = 0; j < kCount; ++j) {
    add_scaled<double>(context, 3.0, basis.view().worker_range(j, 1), y.view());
  }
  for (int i = 0; i < 2; ++i) orthogonalize<double>(context, basis, y.view());
  const double size = std::sqrt(read_sum_of_squares<double>(context, y)[0]);
  EXPECT_GT(size, 1e-6);  // the random part, about sqrt(3000) 1e-6
  for (int64_t j = 0; j < kCount; ++j) {
    const double along = read_dot<double>(context, basis.view().worker_range(j, 1), y)[0];
    EXPECT_LE(std::abs(along), 1e-15 * size) << j;
  }
}

TEST(Orthogonalize, DoesNotDependOnTheNumberOfThreads) {
  Context one(1), three(3);
  EXPECT_EQ(orthogonalized<float>(three, 3, 20000), orthogonalized<float>(one, 3, 20000));
}

TEST(Orthogonalize, ReadsNothingAndAllocatesNothingAfterMeasuring) {
  Context context = test_context(2);
  const auto basis = random_tensor<float>(context, 3, 1, 5000, 1);
  const auto y = random_tensor<float>(context, 1, 1, 5000, 2);
  const auto run = [&] { orthogonalize<float>(context, basis, y.view()); };
  context.reserve_scratch(run);
  const int64_t allocations = context.memory().allocations;
  run();
  EXPECT_EQ(context.memory().allocations, allocations);
  EXPECT_EQ(context.counters().host_reads, 0);
}

TEST(Orthogonalize, RefusesShapesThatDoNotFit) {
  Context context = test_context(1);
  const Tensor<float> basis(context, 2, 1, 5), y(context, 1, 1, 6), two(context, 2, 1, 5);
  expect_error(ErrorKind::kInternal, {"orthogonalize"},
               [&] { orthogonalize<float>(context, basis, y.view()); });
  expect_error(ErrorKind::kInternal, {"orthogonalize"},
               [&] { orthogonalize<float>(context, basis, two.view()); });
}

}  // namespace
}  // namespace saddle::ops
