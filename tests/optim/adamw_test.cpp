#include "optim/adamw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "support/per_worker.h"
#include "support/test_context.h"

namespace saddle::optim {
namespace {

using backend::Arena;

constexpr int64_t kWorkers = 3;

tensor::Layout small_layout() {
  tensor::Layout layout;
  layout.add_matrix("matrix", 3, 5);
  layout.add_vector("gain", 7);
  return layout;
}

template <class T>
std::vector<T> values_of(const Arena<T>& arena, int slot) {
  return backend::to_host<T>(arena.context(), arena.view(slot));
}

template <class T>
void set_values(Arena<T>& arena, uint64_t seed) {
  const RandomStream random(seed, RandomPurpose::kTest);
  uint64_t index = 0;
  for (int slot = 0; slot < 2; ++slot) {
    std::vector<T> values(static_cast<size_t>(arena.view(slot).size()));
    for (T& value : values) value = static_cast<T>(random.normal(index++));
    backend::copy_from_host<T>(arena.context(), values.data(), 0, arena.view(slot));
  }
}

// Three updates against the paper's formula in a plain loop.
template <class T>
void compare_with_plain_loop(double tolerance) {
  backend::Context context = test_context(2);
  config::OptimizerSettings settings;
  settings.weight_decay = 0.3;
  Arena<T> weights(context, small_layout(), kWorkers);
  Arena<T> gradients(context, small_layout(), kWorkers);
  set_values(weights, 2);
  AdamW<T> optimizer(context, settings, weights);

  const std::vector<double> scales = {1.0, 0.25, 0.5};
  const backend::Tensor<double> device_scales = per_worker(context, scales);
  const backend::Tensor<double> commit = per_worker(context, {1.0});
  std::vector<std::vector<double>> w, m(2), v(2);
  for (int slot = 0; slot < 2; ++slot) {
    const std::vector<T> values = values_of(weights, slot);
    w.emplace_back(values.begin(), values.end());
    m[static_cast<size_t>(slot)].assign(values.size(), 0.0);
    v[static_cast<size_t>(slot)].assign(values.size(), 0.0);
  }
  for (int64_t step = 1; step <= 3; ++step) {
    const double lr = 0.01 * static_cast<double>(step);
    set_values(gradients, 10 + static_cast<uint64_t>(step));
    optimizer.update(context, lr, step, {device_scales, commit}, gradients, weights);
    for (size_t slot = 0; slot < 2; ++slot) {
      const std::vector<T> g = values_of(gradients, static_cast<int>(slot));
      const size_t size = g.size() / kWorkers;
      for (size_t i = 0; i < g.size(); ++i) {
        const double scaled = scales[i / size] * static_cast<double>(g[i]);
        double& first = m[slot][i];
        double& second = v[slot][i];
        first = 0.9 * first + 0.1 * scaled;
        second = 0.95 * second + 0.05 * scaled * scaled;
        const double decay = slot == 0 ? 0.3 : 0.0;  // gains do not decay
        const double corrected = first / (1 - std::pow(0.9, step));
        const double root = std::sqrt(second / (1 - std::pow(0.95, step)));
        w[slot][i] = (1 - lr * decay) * w[slot][i] - lr * corrected / (root + 1e-8);
      }
    }
  }
  for (size_t slot = 0; slot < 2; ++slot) {
    const auto at = static_cast<int>(slot);
    const std::vector<T> found = values_of(weights, at);
    const std::vector<T> first = values_of(optimizer.first_moments(), at);
    const std::vector<T> second = values_of(optimizer.second_moments(), at);
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], w[slot][i], tolerance);
      EXPECT_NEAR(first[i], m[slot][i], tolerance);
      EXPECT_NEAR(second[i], v[slot][i], tolerance);
    }
  }
}

// Numbers of order 1 and three updates with a few roundings each.
TEST(AdamW, DoubleAgreesWithAPlainLoop) {
  compare_with_plain_loop<double>(1e-14);
}
TEST(AdamW, FloatAgreesWithAPlainLoop) {
  compare_with_plain_loop<float>(2e-6);
}

TEST(AdamW, AChangedMomentIsUsed) {
  backend::Context context = test_context(1);
  const config::OptimizerSettings settings;
  Arena<double> weights(context, small_layout(), 1);
  const Arena<double> gradients(context, small_layout(), 1);  // zero
  AdamW<double> optimizer(context, settings, weights);
  const std::vector<double> moment(7, 1.0);
  backend::copy_from_host<double>(context, moment.data(), 0, optimizer.first_moments().view(1));
  backend::copy_from_host<double>(context, moment.data(), 0, optimizer.second_moments().view(1));
  const backend::Tensor<double> one = per_worker(context, {1.0});
  optimizer.update(context, 0.001, 1, {one, one}, gradients, weights);
  // m = 0.9, corrected 9; v = 0.95, corrected 19.
  EXPECT_NEAR(values_of(weights, 1)[3], -0.001 * 9 / (std::sqrt(19.0) + 1e-8), 1e-17);
  EXPECT_EQ(values_of(weights, 0)[0], 0.0);
}

// Two workers with gains 1 and 3 are mixed; the second has moments 1 and no gradient.
TEST(AdamW, AChangedMomentOfAWorkerIsUsedWithMixing) {
  const config::OptimizerSettings settings;
  const auto gains_after = [&](ops::Mixing::Order order) {
    backend::Context context = test_context(1);
    Arena<double> weights(context, small_layout(), 2);
    const Arena<double> gradients(context, small_layout(), 2);  // zero
    std::vector<double> gains(14, 1.0);
    std::fill(gains.begin() + 7, gains.end(), 3.0);
    backend::copy_from_host<double>(context, gains.data(), 0, weights.view(1));
    AdamW<double> optimizer(context, settings, weights);
    const std::vector<double> moment(7, 1.0);
    const auto second = [](const Arena<double>& arena) { return arena.view(1).worker_range(1, 1); };
    backend::copy_from_host<double>(context, moment.data(), 0, second(optimizer.first_moments()));
    backend::copy_from_host<double>(context, moment.data(), 0, second(optimizer.second_moments()));
    const backend::Tensor<double> scales = per_worker(context, {1.0, 1.0});
    const backend::Tensor<double> commit = per_worker(context, {1.0});
    optimizer.update(context, 0.001, 1, {scales, commit}, gradients, weights,
                     {{0.5, 0.5, 0.5, 0.5}, order});
    EXPECT_EQ(values_of(optimizer.first_moments(), 1)[0], 0.0) << "moments are not mixed";
    EXPECT_NEAR(values_of(optimizer.second_moments(), 1)[7], 0.95, 1e-16);
    return values_of(weights, 1);
  };
  const double step = 0.001 * 9 / (std::sqrt(19.0) + 1e-8);  // as above
  const std::vector<double> awc = gains_after(ops::Mixing::Order::kBeforeStep);
  EXPECT_EQ(awc[3], 2.0);
  EXPECT_NEAR(awc[7 + 3], 2.0 - step, 1e-15);
  const std::vector<double> atc = gains_after(ops::Mixing::Order::kAfterStep);
  EXPECT_NEAR(atc[3], (1.0 + 3.0 - step) / 2, 1e-15);
  EXPECT_EQ(atc[7 + 3], atc[3]);
}

TEST(AdamW, PartsOfTheWorkersGiveTheUpdateOfAll) {
  backend::Context context = test_context(2);
  const config::OptimizerSettings settings;
  const backend::Tensor<double> scales = per_worker(context, {1.0, 0.25, 0.5});
  const backend::Tensor<double> commit = per_worker(context, {1.0});
  Arena<float> gradients(context, small_layout(), kWorkers);
  set_values(gradients, 3);
  const auto weights_after = [&](auto&& update) {
    Arena<float> weights(context, small_layout(), kWorkers);
    set_values(weights, 2);
    AdamW<float> optimizer(context, settings, weights);
    update(optimizer, weights);
    return backend::to_host<float>(context, weights.all());
  };
  const std::vector<float> together = weights_after([&](auto& optimizer, auto& weights) {
    optimizer.update(context, 0.01, 1, {scales, commit}, gradients, weights);
  });
  const std::vector<float> apart = weights_after([&](auto& optimizer, auto& weights) {
    const auto part = [&](int64_t first, int64_t count) {
      optimizer.update_workers(context, 0.01, 1, {scales.view().worker_range(first, count), commit},
                               gradients, weights, first, count);
    };
    part(2, 1);
    part(0, 2);
  });
  EXPECT_EQ(apart, together);
}

TEST(AdamW, AMatrixOfOneWorkerMixesNothing) {
  backend::Context context = test_context(1);
  const config::OptimizerSettings settings;
  const backend::Tensor<double> one = per_worker(context, {1.0});
  Arena<float> gradients(context, small_layout(), 1);
  set_values(gradients, 3);
  std::vector<std::vector<float>> results;
  for (const std::vector<double>& matrix : {std::vector<double>{}, std::vector<double>{1.0}}) {
    Arena<float> weights(context, small_layout(), 1);
    set_values(weights, 2);
    AdamW<float> optimizer(context, settings, weights);
    optimizer.update(context, 0.01, 1, {one, one}, gradients, weights,
                     {matrix, ops::Mixing::Order::kBeforeStep});
    results.push_back(backend::to_host<float>(context, weights.all()));
  }
  EXPECT_EQ(results[1], results[0]);
}

TEST(AdamW, WithoutCommitNothingChanges) {
  backend::Context context = test_context(2);
  const config::OptimizerSettings settings;
  const backend::Tensor<double> scales = per_worker(context, {1.0, 0.25, 0.5});
  const backend::Tensor<double> commit = per_worker(context, {0.0});
  const std::vector<double> matrix = {0.5, 0.5, 0, 0, 0.5, 0.5, 0.5, 0, 0.5};
  Arena<float> weights(context, small_layout(), kWorkers);
  Arena<float> gradients(context, small_layout(), kWorkers);
  set_values(weights, 2);
  set_values(gradients, 3);
  AdamW<float> optimizer(context, settings, weights);
  set_values(optimizer.first_moments(), 4);
  const auto all = [&] {
    return std::vector{backend::to_host<float>(context, weights.all()),
                       backend::to_host<float>(context, optimizer.first_moments().all()),
                       backend::to_host<float>(context, optimizer.second_moments().all())};
  };
  const auto before = all();
  optimizer.update(context, 0.01, 1, {scales, commit}, gradients, weights);
  optimizer.update(context, 0.01, 1, {scales, commit}, gradients, weights,
                   {matrix, ops::Mixing::Order::kBeforeStep});
  optimizer.update(context, 0.01, 1, {scales, commit}, gradients, weights,
                   {matrix, ops::Mixing::Order::kAfterStep});
  EXPECT_EQ(all(), before);
  optimizer.update(context, 0.01, 1, {scales, per_worker(context, {1.0})}, gradients, weights);
  EXPECT_NE(all(), before);
}

}  // namespace
}  // namespace saddle::optim
