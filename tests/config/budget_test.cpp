#include "config/budget.h"

#include <gtest/gtest.h>

#include <vector>

#include "config/settings_text.h"
#include "support/expect_error.h"

namespace saddle::config {
namespace {

TEST(Budget, BoundariesAreCumulativeAndRoundedUpToBlocks) {
  const Settings settings = with_overrides(
      {"training.max_tokens=67", "training.epoch_tokens=23", "model.context_length=4"});
  EXPECT_EQ(epoch_boundaries(settings), (std::vector<int64_t>{6, 12, 17}));
  EXPECT_EQ(budget_tokens(settings), 17 * 4 + 1);
}

TEST(Budget, OfThe20mPreset) {
  const Settings settings;
  EXPECT_EQ(budget_targets(settings), 20.0 * 20403520);
  EXPECT_EQ(epoch_targets(settings), 10201760.0);
  const std::vector<int64_t> boundaries = epoch_boundaries(settings);
  ASSERT_EQ(boundaries.size(), 40u);
  EXPECT_EQ(boundaries[0], 9963);     // 10201760 / 1024 = 9962.66
  EXPECT_EQ(boundaries[1], 19926);    // 19925.31
  EXPECT_EQ(boundaries[39], 398507);  // 398506.25
  EXPECT_EQ(budget_tokens(settings), int64_t{398507} * 1024 + 1);
}

TEST(Budget, ShortOnesAreOneEpochAndEmptyLastEpochsAreDropped) {
  EXPECT_EQ(epoch_boundaries(with_overrides({"training.max_tokens=5", "model.context_length=4"})),
            (std::vector<int64_t>{2}));
  // Rounding up the first epoch took the one target that would have been the second.
  EXPECT_EQ(epoch_boundaries(with_overrides(
                {"training.max_tokens=24", "training.epoch_tokens=23", "model.context_length=4"})),
            (std::vector<int64_t>{6}));
}

TEST(Budget, BoundariesOfTooManyEpochsAreRefused) {
  Settings settings;
  settings.training.tokens_per_parameter = 1e300;
  expect_error(ErrorKind::kConfig, {"tokens_per_parameter"}, [&] { epoch_boundaries(settings); });
  settings.training.max_tokens = 1'000'000'000'000;
  settings.training.epoch_tokens = 1024;
  expect_error(ErrorKind::kConfig, {"epochs"}, [&] { epoch_boundaries(settings); });
}

TEST(Budget, EpochsNeedNotBeWholeNumbersOfTargets) {
  // An epoch of 31.5 targets: two of them end at 63, where two of 32 would end at 64.
  Settings settings = with_overrides({"training.max_tokens=64", "model.context_length=1"});
  settings.training.epoch_tokens_per_parameter =
      31.5 / static_cast<double>(parameter_count(settings.model));
  ASSERT_NEAR(epoch_targets(settings), 31.5, 1e-9);  // rounding of one division and one product
  EXPECT_EQ(epoch_boundaries(settings), (std::vector<int64_t>{32, 63, 64}));
}

}  // namespace
}  // namespace saddle::config
