#include "optim/adamw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

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
  return backend::to_host<T>(context, arena.view(slot));
}

template <class T>
void set_values(Arena<T>& arena, uint64_t seed) {
  const RandomStream random(seed, RandomPurpose::kTest);
  uint64_t index = 0;
  for (int slot = 0; slot < 2; ++slot) {
    std::vector<T> values(static_cast<size_t>(arena.view(slot).size()));
    for (T& value : values) value = static_cast<T>(random.normal(index++));
    backend::copy_from_host<T>(context, values.data(), 0, arena.view(slot));
  }
}

TEST(ClipScale, DividesByTheNormPlusATinyNumber) {
  EXPECT_EQ(clip_scale(0.5, 1.0), 1.0);
  EXPECT_EQ(clip_scale(0.0, 1.0), 1.0);
  EXPECT_DOUBLE_EQ(clip_scale(4.0, 1.0), 1.0 / 4.000001);
  EXPECT_DOUBLE_EQ(clip_scale(1.0, 1.0), 1.0 / 1.000001);
  EXPECT_DOUBLE_EQ(clip_scale(10.0, 2.5), 2.5 / 10.000001);
  EXPECT_EQ(clip_scale(1e9, std::nullopt), 1.0);
}

TEST(GradientNorms, AreThoseOfEachWorker) {
  backend::Context context(1);
  Arena<float> gradients(context, small_layout(), kWorkers);
  set_values(gradients, 1);
  const std::vector<double> norms = gradient_norms<float>(context, gradients);
  ASSERT_EQ(norms.size(), 3U);
  for (int64_t n = 0; n < kWorkers; ++n) {
    double sum = 0;
    for (int slot = 0; slot < 2; ++slot) {
      const auto view = gradients.view(slot).worker_range(n, 1);
      for (const double x : backend::to_host<float>(context, view)) sum += x * x;
    }
    // Both sum in double.
    EXPECT_NEAR(norms[static_cast<size_t>(n)], std::sqrt(sum), 1e-14 * std::sqrt(sum));
  }
}

// If the squares of a gradient overflow float, its norm is still correct. A number that is not
// finite makes only the norm of its worker not finite.
TEST(GradientNorms, HandleLargeAndNonFiniteNumbers) {
  backend::Context context(1);
  Arena<float> gradients(context, small_layout(), kWorkers);
  std::vector<float> values(7 * kWorkers, 0.0F);
  values[0] = 3e30F;
  values[7 + 2] = std::numeric_limits<float>::quiet_NaN();
  values[14 + 6] = -std::numeric_limits<float>::infinity();
  backend::copy_from_host<float>(context, values.data(), 0, gradients.view(1));
  const std::vector<double> norms = gradient_norms<float>(context, gradients);
  EXPECT_NEAR(norms[0], 3e30, 1e24);
  EXPECT_TRUE(std::isnan(norms[1]));
  EXPECT_TRUE(std::isinf(norms[2]));
}

// Three updates against the paper's formula in a plain loop.
template <class T>
void compare_with_plain_loop(double tolerance) {
  backend::Context context(2);
  config::OptimizerSettings settings;
  settings.weight_decay = 0.3;
  Arena<T> weights(context, small_layout(), kWorkers);
  Arena<T> gradients(context, small_layout(), kWorkers);
  set_values(weights, 2);
  AdamW<T> optimizer(context, settings, weights);

  const std::vector<double> scales = {1.0, 0.25, 0.5};
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
    optimizer.update(context, lr, step, scales, gradients, weights);
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
  backend::Context context(1);
  const config::OptimizerSettings settings;
  Arena<double> weights(context, small_layout(), 1);
  const Arena<double> gradients(context, small_layout(), 1);  // zero
  AdamW<double> optimizer(context, settings, weights);
  const std::vector<double> moment(7, 1.0);
  backend::copy_from_host<double>(context, moment.data(), 0, optimizer.first_moments().view(1));
  backend::copy_from_host<double>(context, moment.data(), 0, optimizer.second_moments().view(1));
  optimizer.update(context, 0.001, 1, {1.0}, gradients, weights);
  // m = 0.9, corrected 9; v = 0.95, corrected 19.
  EXPECT_NEAR(values_of(weights, 1)[3], -0.001 * 9 / (std::sqrt(19.0) + 1e-8), 1e-17);
  EXPECT_EQ(values_of(weights, 0)[0], 0.0);
}

// Two workers with gains 1 and 3 are mixed; the second has moments 1 and no gradient.
TEST(AdamW, AChangedMomentOfAWorkerIsUsedWithMixing) {
  const config::OptimizerSettings settings;
  const auto gains_after = [&](ops::Mixing::Order order) {
    backend::Context context(1);
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
    optimizer.update(context, 0.001, 1, {1.0, 1.0}, gradients, weights,
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

}  // namespace
}  // namespace saddle::optim
