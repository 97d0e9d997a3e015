#include "ops/mixing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "backend/tensor.h"
#include "base/random.h"
#include "ops/tensors.h"
#include "support/expect_error.h"
#include "support/per_worker.h"
#include "support/test_context.h"

namespace saddle::ops {
namespace {

using backend::Tensor;

// Sizes that end inside a block of columns, the first one in its third block, with padding after
// each tensor.
constexpr int64_t kColumns = 36160;
const std::vector<AdamWSegment> kSegments = {{0, 36000, true}, {36032, 70, false}};

bool is_padding(int64_t column) {
  return !(column < 36000 || (column >= 36032 && column < 36102));
}

template <class T>
std::vector<T> random_values(int64_t workers, uint64_t seed, bool positive = false) {
  const RandomStream random(seed, RandomPurpose::kTest);
  std::vector<T> values(static_cast<size_t>(workers * kColumns));
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = random.normal(i);
    if (!is_padding(static_cast<int64_t>(i) % kColumns)) {
      values[i] = static_cast<T>(positive ? x * x : x);
    }
  }
  return values;
}

// A matrix that is not symmetric, and whose rows and columns sum to 1.
std::vector<double> some_matrix(int64_t workers) {
  std::vector<double> matrix(static_cast<size_t>(workers * workers));
  for (int64_t i = 0; i < workers; ++i) {
    matrix[static_cast<size_t>(i * workers + i)] += 0.3;
    matrix[static_cast<size_t>(i * workers + (i + 1) % workers)] += 0.6;
    matrix[static_cast<size_t>(i * workers + (i + 2) % workers)] += 0.1;
  }
  return matrix;
}

template <class T>
struct Arenas {
  Arenas(int64_t workers, int threads)
      : context(threads),
        weights(context, workers, 1, kColumns),
        gradients(context, workers, 1, kColumns),
        first(context, workers, 1, kColumns),
        second(context, workers, 1, kColumns) {
    backend::copy_from_host<T>(context, random_values<T>(workers, 1).data(), 0, weights.view());
    backend::copy_from_host<T>(context, random_values<T>(workers, 2).data(), 0, gradients.view());
    backend::copy_from_host<T>(context, random_values<T>(workers, 3).data(), 0, first.view());
    backend::copy_from_host<T>(context, random_values<T>(workers, 4, true).data(), 0,
                               second.view());
  }
  // With mixing in one pass, or without a matrix.
  void update(const Mixing& mixing, double committed = 1) {
    std::vector<double> some = {1.0, 0.5, 0.25, 0.75, 1.0};
    some.resize(static_cast<size_t>(weights.view().workers()));
    const Tensor<double> scales = per_worker(context, some);
    const Tensor<double> commit = per_worker(context, {committed});
    const AdamWStep step{0.01, 0.9, 0.95, 1e-8, 0.1, 3};
    if (mixing.matrix.empty()) {
      return adamw_update<T>(context, step, adamw_pieces(context, kSegments), {scales, commit},
                             gradients, weights, first, second);
    }
    adamw_update_mixed<T>(context, step, mixing, kSegments, {scales, commit}, gradients, weights,
                          first, second);
  }
  std::vector<std::vector<T>> all() {
    return {backend::to_host<T>(context, weights), backend::to_host<T>(context, first),
            backend::to_host<T>(context, second), backend::to_host<T>(context, gradients)};
  }

  Context context;
  Tensor<T> weights, gradients, first, second;
};

template <class T>
void compare_mix(double tolerance) {
  for (const int64_t workers : {2, 3, 5}) {
    Arenas<T> arenas(workers, 2);
    const std::vector<T> before = backend::to_host<T>(arenas.context, arenas.weights);
    const std::vector<double> matrix = some_matrix(workers);
    mix<T>(arenas.context, matrix, arenas.weights);
    const std::vector<T> after = backend::to_host<T>(arenas.context, arenas.weights);
    for (int64_t c = 0; c < kColumns; ++c) {
      double mean_before = 0;
      double mean_after = 0;
      for (int64_t i = 0; i < workers; ++i) {
        double expected = 0;
        for (int64_t j = 0; j < workers; ++j) {
          expected += matrix[static_cast<size_t>(i * workers + j)] *
                      static_cast<double>(before[static_cast<size_t>(j * kColumns + c)]);
        }
        const T found = after[static_cast<size_t>(i * kColumns + c)];
        EXPECT_NEAR(found, expected, tolerance);
        if (is_padding(c)) {
          EXPECT_EQ(found, T(0));
        }
        mean_before += before[static_cast<size_t>(i * kColumns + c)] / T(workers);
        mean_after += found / T(workers);
      }
      EXPECT_NEAR(mean_after, mean_before, tolerance);
    }
  }
}

// Numbers up to 4, with a few roundings.
TEST(Mix, IsTheSumOfTheRowsAndKeepsTheMean) {
  compare_mix<double>(2e-15);
  compare_mix<float>(1e-6);
}

// float(1/3) is more than a third: three of them would make the weights grow.
TEST(Mix, DoesNotChangeEqualWorkers) {
  for (const int64_t workers : {3, 5, 7}) {
    Context context = test_context(1);
    Tensor<float> x(context, workers, 1, kColumns);
    const std::vector<float> one = random_values<float>(1, 5);
    for (int64_t n = 0; n < workers; ++n) {
      backend::copy_from_host<float>(context, one.data(), 0, x.view().worker_range(n, 1));
    }
    const std::vector<float> before = backend::to_host<float>(context, x);
    const double share = 1.0 / static_cast<double>(workers);
    mix<float>(context, std::vector<double>(static_cast<size_t>(workers * workers), share), x);
    EXPECT_EQ(backend::to_host<float>(context, x), before);
  }
}

TEST(Mix, RefusesAMatrixOfAnotherSize) {
  Arenas<double> arenas(3, 1);
  expect_error(ErrorKind::kInternal, {"mixing", "matrix"},
               [&] { mix<double>(arenas.context, some_matrix(2), arenas.weights); });
}

// One pass gives the same bits as mixing and AdamW one after the other, on any number of threads,
// and does not change gradients and padding.
template <class T>
void compare_with_two_passes() {
  for (const int64_t workers : {2, 3, 5}) {
    for (const auto order : {Mixing::Order::kBeforeStep, Mixing::Order::kAfterStep}) {
      const Mixing mixing{some_matrix(workers), order};
      Arenas<T> parts(workers, 1);
      if (order == Mixing::Order::kBeforeStep) mix<T>(parts.context, mixing.matrix, parts.weights);
      parts.update({});
      if (order == Mixing::Order::kAfterStep) mix<T>(parts.context, mixing.matrix, parts.weights);
      const auto expected = parts.all();
      for (const int threads : {1, 2, 3}) {
        Arenas<T> whole(workers, threads);
        whole.update(mixing);
        const auto all = whole.all();
        EXPECT_EQ(all, expected) << workers << " workers, " << threads << " threads";
        EXPECT_EQ(all[3], random_values<T>(workers, 2));
        for (int64_t i = 0; i < workers * kColumns; ++i) {
          if (is_padding(i % kColumns)) {
            ASSERT_EQ(all[0][static_cast<size_t>(i)], T(0));
          }
        }
      }
    }
  }
}

TEST(AdamWMixed, GivesTheBitsOfTwoPasses) {
  compare_with_two_passes<double>();
  compare_with_two_passes<float>();
}

// With commit 0 nothing changes, in both orders, whatever the gradients are.
template <class T>
void expect_no_change_without_commit() {
  for (const int64_t workers : {2, 5}) {
    for (const auto order : {Mixing::Order::kBeforeStep, Mixing::Order::kAfterStep}) {
      Arenas<T> arenas(workers, 2);
      set_number<T>(arenas.context, arenas.gradients.view(), 1, 0, 3,
                    std::numeric_limits<T>::quiet_NaN());
      arenas.update({}, 0);
      arenas.update({some_matrix(workers), order}, 0);
      EXPECT_EQ(backend::to_host<T>(arenas.context, arenas.weights), random_values<T>(workers, 1));
      EXPECT_EQ(backend::to_host<T>(arenas.context, arenas.first), random_values<T>(workers, 3));
      EXPECT_EQ(backend::to_host<T>(arenas.context, arenas.second),
                random_values<T>(workers, 4, true));
    }
  }
}

TEST(AdamWMixed, WithoutCommitNothingChanges) {
  expect_no_change_without_commit<float>();
  expect_no_change_without_commit<double>();
}

TEST(AdamWMixed, RefusesAMatrixOfAnotherSize) {
  Arenas<double> arenas(3, 1);
  expect_error(ErrorKind::kInternal, {"mixing", "matrix"}, [&] {
    arenas.update({some_matrix(2), Mixing::Order::kAfterStep});
  });
}

TEST(AdamWMixed, MeasuredScratchSuffices) {
  for (const int threads : {1, 3}) {
    for (const auto order : {Mixing::Order::kBeforeStep, Mixing::Order::kAfterStep}) {
      Arenas<float> arenas(3, threads);
      const Tensor<double> scales = per_worker(arenas.context, {1, 1, 1});
      const Tensor<double> commit = per_worker(arenas.context, {1});
      const auto run = [&] {
        adamw_update_mixed<float>(arenas.context, {0.01, 0.9, 0.95, 1e-8, 0.1, 3},
                                  {some_matrix(3), order}, kSegments, {scales, commit},
                                  arenas.gradients, arenas.weights, arenas.first, arenas.second);
      };
      arenas.context.reserve_scratch(run);
      const int64_t allocations = arenas.context.memory().allocations;
      EXPECT_EQ(backend::to_host<float>(arenas.context, arenas.weights), random_values<float>(3, 1))
          << "measuring writes nothing";
      run();
      EXPECT_EQ(arenas.context.memory().allocations, allocations) << threads;
    }
  }
}

TEST(AdamWMixed, OfOneWorkerIsAdamW) {
  Arenas<float> ordinary(1, 1);
  ordinary.update({});
  Arenas<float> mixed(1, 1);
  mixed.update({{1.0}, Mixing::Order::kBeforeStep});
  EXPECT_EQ(mixed.all(), ordinary.all());
}

// Two workers at 1 and 3, with u = g / (|g| + 1) = 1/2 and 3/4, lr 0.1, decay 0.5.
std::vector<double> two_workers(Mixing::Order order) {
  Context context = test_context(1);
  Tensor<double> w(context, 2, 1, 64);
  Tensor<double> g(context, 2, 1, 64);
  Tensor<double> m(context, 2, 1, 64);
  Tensor<double> v(context, 2, 1, 64);
  const auto set = [&](Tensor<double>& tensor, double first, double second) {
    const std::vector<double> values = {first, second};
    backend::copy_from_host<double>(context, values.data(), 0, tensor.view().column_range(0, 1));
  };
  set(w, 1, 3);
  set(g, 1, 3);
  const std::vector<AdamWSegment> segments = {{0, 1, true}};
  const Tensor<double> scales = per_worker(context, {1, 1}), commit = per_worker(context, {1});
  adamw_update_mixed<double>(context, {0.1, 0, 0, 1, 0.5, 1}, {{0.5, 0.5, 0.5, 0.5}, order},
                             segments, {scales, commit}, g.view(), w.view(), m.view(), v.view());
  EXPECT_EQ(backend::to_host<double>(context, m.view().column_range(0, 1)),
            (std::vector<double>{1, 3}));
  EXPECT_EQ(backend::to_host<double>(context, v.view().column_range(0, 1)),
            (std::vector<double>{1, 9}));
  return backend::to_host<double>(context, w.view().column_range(0, 1));
}

TEST(AdamWMixed, TwoWorkersByHand) {
  const std::vector<double> awc = two_workers(Mixing::Order::kBeforeStep);
  EXPECT_NEAR(awc[0], 0.95 * 2 - 0.1 * 0.5, 1e-15);   // 1.85
  EXPECT_NEAR(awc[1], 0.95 * 2 - 0.1 * 0.75, 1e-15);  // 1.825
  const std::vector<double> atc = two_workers(Mixing::Order::kAfterStep);
  // 0.95 - 0.05 = 0.9 and 2.85 - 0.075 = 2.775
  EXPECT_NEAR(atc[0], 1.8375, 1e-15);
  EXPECT_EQ(atc[1], atc[0]);
}

TEST(WorkerMean, AndConsensusDistance) {
  Context context = test_context(2);
  const std::vector<float> values = random_values<float>(3, 6);
  Tensor<float> x(context, 3, 1, kColumns);
  backend::copy_from_host<float>(context, values.data(), 0, x.view());
  Tensor<float> mean(context, 1, 1, kColumns);
  worker_mean<float>(context, x, mean);
  const std::vector<float> found = backend::to_host<float>(context, mean);
  double distance = 0;
  for (int64_t c = 0; c < kColumns; ++c) {
    const auto at = [&](int64_t n) {
      return static_cast<double>(values[static_cast<size_t>(n * kColumns + c)]);
    };
    const double expected = (at(0) + at(1) + at(2)) / 3;
    EXPECT_EQ(found[static_cast<size_t>(c)], static_cast<float>(expected));
    for (int64_t n = 0; n < 3; ++n) distance += (at(n) - expected) * (at(n) - expected) / 3;
  }
  const auto distance_of = [&](View<const float> workers) {
    const Tensor<double> result(context, 1, 1, 1);
    consensus_distance<float>(context, workers, result);
    return backend::to_host<double>(context, result)[0];
  };
  EXPECT_NEAR(distance_of(x), distance, 1e-12 * distance);

  backend::copy_from_host<float>(context, found.data(), 0, x.view().worker_range(0, 1));
  EXPECT_EQ(distance_of(x.view().worker_range(0, 1)), 0);
  EXPECT_EQ(backend::to_host<float>(context, x.view().worker_range(1, 2)),
            std::vector<float>(values.begin() + kColumns, values.end()))
      << "computing the mean does not change the workers";
}

}  // namespace
}  // namespace saddle::ops
