#include "train/epochs.h"

#include <gtest/gtest.h>

namespace saddle::train {
namespace {

TEST(EpochPlan, TheExampleInTheDocumentation) {
  config::Settings settings;
  settings.model.context_length = 4;
  settings.training.max_tokens = 67;
  settings.training.epoch_tokens = 23;
  settings.training.batch_tokens = 16;
  const EpochPlan plan(settings);
  ASSERT_EQ(plan.epochs(), 3);
  EXPECT_EQ(plan.boundary(1), 6);
  EXPECT_EQ(plan.boundary(2), 12);
  EXPECT_EQ(plan.boundary(3), 17);
  EXPECT_EQ(plan.tokens(plan.total_blocks()), 68);
}

TEST(EpochPlan, UpdatesEndAtTheEndsOfEpochs) {
  const EpochPlan plan({6, 12, 17}, 4, 4);
  std::vector<int64_t> positions;
  int64_t position = 0;
  for (int64_t step = 0;; ++step) {
    EXPECT_EQ(plan.updates_at(position), step);
    const int64_t blocks = plan.next_update_blocks(position);
    if (blocks == 0) break;
    position += blocks;
    positions.push_back(position);
  }
  EXPECT_EQ(positions, (std::vector<int64_t>{4, 6, 10, 12, 16, 17}));
  EXPECT_EQ(plan.total_updates(), 6);
  EXPECT_EQ(plan.completed_epochs(0), 0);
  EXPECT_EQ(plan.completed_epochs(5), 0);
  EXPECT_EQ(plan.completed_epochs(6), 1);
  EXPECT_EQ(plan.completed_epochs(16), 2);
  EXPECT_EQ(plan.completed_epochs(17), 3);
}

TEST(EpochPlan, NoUpdateEndsElsewhere) {
  const EpochPlan plan({6, 12, 17}, 4, 4);
  for (const int64_t position : {-1, 1, 3, 5, 7, 11, 15, 18}) {
    EXPECT_EQ(plan.updates_at(position), -1) << position;
  }
}

TEST(EpochPlan, ThePresetHasFortyEpochs) {
  const EpochPlan plan((config::Settings()));
  EXPECT_EQ(plan.epochs(), 40);
  // ceil(20 * 20,403,520 / 1024) blocks, epochs of ceil(10,201,760 / 1024) of them.
  EXPECT_EQ(plan.total_blocks(), 398507);
  EXPECT_EQ(plan.boundary(1), 9963);
  EXPECT_EQ(plan.next_update_blocks(0), 32);
  EXPECT_EQ(plan.next_update_blocks(9952), 11);
}

}  // namespace
}  // namespace saddle::train
