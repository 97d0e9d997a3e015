#include "optim/schedule.h"

#include <gtest/gtest.h>

#include <tuple>

namespace saddle::optim {
namespace {

// lr 0.001, warmup 5% of 1,000 tokens, then a cosine to a tenth. The values were computed by hand
// from the formula: at progress 1/4 the cosine term is (1 + sqrt(1/2)) / 2, at 1/3 it is 3/4.
TEST(Schedule, AgreesWithATable) {
  const config::OptimizerSettings settings;
  const std::tuple<int64_t, double> table[] = {
      {1, 0.00002},
      {25, 0.0005},
      {49, 0.00098},
      {50, 0.001},
  };
  for (const auto& [tokens, expected] : table) {
    EXPECT_NEAR(learning_rate(settings, tokens, 1000), expected, 1e-18) << tokens;
  }
  // 950 tokens of cosine: use a total in which the quarters are whole numbers.
  EXPECT_NEAR(learning_rate(settings, 100 + 475, 2000), 0.001 * (0.1 + 0.9 * 0.8535533905932738),
              1e-18);
  EXPECT_NEAR(learning_rate(settings, 300 + 1900, 6000), 0.001 * (0.1 + 0.9 * 0.75), 1e-18);
  EXPECT_NEAR(learning_rate(settings, 100 + 950, 2000), 0.001 * 0.55, 1e-18);
  EXPECT_NEAR(learning_rate(settings, 2000, 2000), 0.0001, 1e-19);
}

TEST(Schedule, RisesThenFalls) {
  const config::OptimizerSettings settings;
  for (int64_t tokens = 2; tokens <= 1000; ++tokens) {
    const double change =
        learning_rate(settings, tokens, 1000) - learning_rate(settings, tokens - 1, 1000);
    if (tokens <= 50) {
      EXPECT_GT(change, 0) << tokens;
    } else {
      EXPECT_LT(change, 0) << tokens;
    }
  }
}

TEST(Schedule, WithoutWarmupOrWithNothingElse) {
  config::OptimizerSettings settings;
  settings.warmup_fraction = 0;
  EXPECT_NEAR(learning_rate(settings, 1, 2000000), 0.001, 1e-12);
  settings.warmup_fraction = 1;
  EXPECT_NEAR(learning_rate(settings, 500, 1000), 0.0005, 1e-18);
  EXPECT_NEAR(learning_rate(settings, 1000, 1000), 0.001, 1e-18);
  settings.min_lr_ratio = 1;
  settings.warmup_fraction = 0;
  EXPECT_DOUBLE_EQ(learning_rate(settings, 700, 1000), 0.001);
}

}  // namespace
}  // namespace saddle::optim
