#include "data/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "data/fixtures.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "support/token_cache.h"

namespace saddle::data {
namespace {

std::vector<int64_t> whole_order(int64_t total, int64_t range, uint64_t seed) {
  const BlockOrder order(total, range, seed);
  std::vector<int64_t> blocks;
  for (int64_t position = 0; position < total; ++position) {
    blocks.push_back(order.block_at(position));
  }
  return blocks;
}

TEST(TokensNeeded, OneMoreThanTheTargets) {
  EXPECT_EQ(tokens_needed(0, 8), 1);
  EXPECT_EQ(tokens_needed(3, 8), 25);
  EXPECT_EQ(tokens_needed(int64_t{1} << 40, 1024), (int64_t{1} << 50) + 1);
  expect_error(ErrorKind::kConfig, {"cannot be counted"},
               [] { tokens_needed(int64_t{1} << 60, 1024); });
  expect_error(ErrorKind::kConfig, {"cannot be counted"}, [] { tokens_needed(-1, 8); });
  expect_error(ErrorKind::kConfig, {"at least 1 token"}, [] { tokens_needed(1, 0); });
}

TEST(BlocksPerRange, AsManyAsFitAndAtLeastOne) {
  EXPECT_EQ(blocks_per_range(int64_t{64} << 20, 1024), 32'768);
  EXPECT_EQ(blocks_per_range(int64_t{64} << 20, 1000), 33'554);
  EXPECT_EQ(blocks_per_range(100, 1024), 1);
}

TEST(BlockOrder, MatchesASeparateProgram) {
  // From a separate program: ranges in a Fisher-Yates order of Philox stream (seed, 3, 0), and the
  // blocks of range r in that of stream (seed, 4, r).
  using Order = std::vector<int64_t>;
  EXPECT_EQ(whole_order(11, 4, 42), (Order{10, 8, 9, 5, 6, 7, 4, 2, 1, 3, 0}));
  EXPECT_EQ(whole_order(11, 4, 43), (Order{8, 9, 10, 2, 1, 3, 0, 5, 4, 7, 6}));
  EXPECT_EQ(whole_order(7, 7, 42), (Order{2, 1, 5, 4, 0, 3, 6}));
  EXPECT_EQ(whole_order(5, 1, 42), (Order{4, 1, 0, 3, 2}));
}

TEST(BlockOrder, IsAPermutationThatKeepsRangesTogether) {
  for (const int64_t total : {1, 2, 9, 10, 11, 64}) {
    for (const int64_t range : {1, 3, 10, 64, 1000}) {
      for (uint64_t seed = 0; seed < 5; ++seed) {
        SCOPED_TRACE(fmt::format("{} blocks, ranges of {}, seed {}", total, range, seed));
        std::vector<int64_t> blocks = whole_order(total, range, seed);
        std::vector<int64_t> ranges;
        for (const int64_t block : blocks) {
          if (ranges.empty() || ranges.back() != block / range) ranges.push_back(block / range);
        }
        EXPECT_EQ(static_cast<int64_t>(ranges.size()), (total + range - 1) / range);
        std::sort(blocks.begin(), blocks.end());
        std::vector<int64_t> expected(static_cast<size_t>(total));
        std::iota(expected.begin(), expected.end(), 0);
        EXPECT_EQ(blocks, expected);
      }
    }
  }
}

TEST(BlockOrder, RefusesPositionsOutOfRange) {
  const BlockOrder order(10, 3, 1);
  expect_error(ErrorKind::kInternal, {"position 10"}, [&] { order.block_at(10); });
  expect_error(ErrorKind::kInternal, {"position -1"}, [&] { order.block_at(-1); });
  expect_error(ErrorKind::kConfig, {"at least 1 block"}, [] { BlockOrder(0, 3, 1); });
}

constexpr int64_t kVocabulary = 65'521;  // larger than the token count: an id shows its place
constexpr int64_t kContext = 8;
constexpr int64_t kBlocks = 37;

class LoaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write_token_cache(directory_, counting_ids(kBlocks * kContext + 1, kVocabulary),
                      counting_ids(3, kVocabulary), kVocabulary, 50);
  }
  static LoaderOptions options(bool prefetch = true, int64_t range_blocks = 5) {
    LoaderOptions options;
    options.context_length = kContext;
    options.total_blocks = kBlocks;
    options.buffer_bytes = 2 * range_blocks * kContext + 3;
    options.prefetch = prefetch;
    return options;
  }
  // Reads `count` blocks, checks that they are complete and returns their numbers.
  static std::vector<int64_t> take(TrainingLoader* loader, int64_t count) {
    std::vector<int32_t> inputs(static_cast<size_t>(count * kContext));
    std::vector<int32_t> targets(inputs.size());
    loader->next(count, inputs.data(), targets.data());
    std::vector<int64_t> blocks;
    for (int64_t i = 0; i < count; ++i) {
      blocks.push_back(inputs[static_cast<size_t>(i * kContext)] / kContext);
      for (int64_t t = 0; t < kContext; ++t) {
        const auto place = static_cast<size_t>(i * kContext + t);
        EXPECT_EQ(inputs[place], blocks.back() * kContext + t);
        EXPECT_EQ(targets[place], inputs[place] + 1);
      }
    }
    return blocks;
  }
  TemporaryDirectory temporary_;
  Path directory_ = temporary_ / "cache";
};

TEST_F(LoaderTest, GivesTheBlocksOfTheOrder) {
  const TokenCache cache(directory_);
  for (const bool prefetch : {false, true}) {
    for (const int64_t range : {1, 5, 37, 100}) {
      for (const int64_t count : {1, 4, 37}) {
        TrainingLoader loader(cache, options(prefetch, range));
        std::vector<int64_t> blocks;
        while (loader.remaining() > 0) {
          const auto piece = take(&loader, std::min(count, loader.remaining()));
          blocks.insert(blocks.end(), piece.begin(), piece.end());
          EXPECT_EQ(loader.position(), static_cast<int64_t>(blocks.size()));
        }
        EXPECT_EQ(blocks, whole_order(kBlocks, range, 42));
      }
    }
  }
}

TEST_F(LoaderTest, LeavesOutTheFirstBlocks) {
  const TokenCache cache(directory_);
  for (const bool prefetch : {false, true}) {
    LoaderOptions later = options(prefetch);
    later.first_block = 20;
    later.total_blocks = kBlocks - 20;
    TrainingLoader loader(cache, later);
    std::vector<int64_t> expected = whole_order(kBlocks - 20, 5, 42);
    for (int64_t& block : expected) block += 20;
    EXPECT_EQ(take(&loader, kBlocks - 20), expected);
  }
  LoaderOptions options = LoaderTest::options();
  options.first_block = 1;
  expect_error(ErrorKind::kData, {"38 sequences", "305", "297"},
               [&] { TrainingLoader(cache, options); });
  options.first_block = -1;
  expect_error(ErrorKind::kInternal, {"begin at block -1"},
               [&] { TrainingLoader(cache, options); });
  options.first_block = INT64_MAX;
  expect_error(ErrorKind::kInternal, {"cannot begin at block"},
               [&] { TrainingLoader(cache, options); });
}

TEST_F(LoaderTest, StartsAnywhere) {
  const TokenCache cache(directory_);
  const std::vector<int64_t> order = whole_order(kBlocks, 5, 42);
  for (int64_t start = 0; start <= kBlocks; ++start) {
    for (const bool prefetch : {false, true}) {
      TrainingLoader loader(cache, options(prefetch), start);
      EXPECT_EQ(loader.position(), start);
      EXPECT_EQ(take(&loader, loader.remaining()),
                std::vector<int64_t>(order.begin() + start, order.end()));
    }
  }
}

TEST_F(LoaderTest, ASmallerBudgetTakesThePrefix) {
  const TokenCache cache(directory_);
  LoaderOptions smaller = options();
  smaller.total_blocks = 12;
  TrainingLoader loader(cache, smaller);
  std::vector<int64_t> blocks = take(&loader, 12);
  std::sort(blocks.begin(), blocks.end());
  std::vector<int64_t> expected(12);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(blocks, expected);
}

TEST_F(LoaderTest, RefusesMoreThanTheCacheHas) {
  const TokenCache cache(directory_);
  LoaderOptions larger = options();
  larger.total_blocks = kBlocks + 1;
  expect_error(ErrorKind::kData,
               {directory_.string(), "too small", "305 training tokens", "found 297"},
               [&] { TrainingLoader loader(cache, larger); });
  expect_error(ErrorKind::kInternal, {"cannot start at block 38"},
               [&] { TrainingLoader loader(cache, options(), kBlocks + 1); });
  TrainingLoader loader(cache, options());
  expect_error(ErrorKind::kInternal, {"38 sequences", "37 are left"},
               [&] { loader.next(38, nullptr, nullptr); });
}

TEST_F(LoaderTest, OneTokenLessThanNeededIsTooSmall) {
  write_token_cache(temporary_ / "short", counting_ids(kBlocks * kContext, kVocabulary),
                    counting_ids(3, kVocabulary), kVocabulary);
  const TokenCache cache(temporary_ / "short");
  expect_error(ErrorKind::kData, {"297 training tokens", "found 296"},
               [&] { TrainingLoader loader(cache, options()); });
}

TEST_F(LoaderTest, AnErrorIsThrownWhenItsRangeIsNeededAndOnEveryRetry) {
  std::vector<uint16_t> ids = counting_ids(kBlocks * kContext + 1, kVocabulary);
  const std::vector<int64_t> order = whole_order(kBlocks, 5, 42);
  const int64_t good = 15;  // three whole ranges: the last range, of 2 blocks, comes later
  ids[static_cast<size_t>(order[good] * kContext + 3)] = 65'535;
  write_token_cache(directory_, ids, counting_ids(3, kVocabulary), kVocabulary, 50);
  const TokenCache cache(directory_);
  for (const bool prefetch : {false, true}) {
    TrainingLoader loader(cache, options(prefetch));
    EXPECT_EQ(take(&loader, 13), std::vector<int64_t>(order.begin(), order.begin() + 13));
    std::vector<int32_t> scratch(4 * kContext);
    for (int attempt = 0; attempt < 3; ++attempt) {
      expect_error(ErrorKind::kData, {"train-0000", "id 65535 at byte offset"},
                   [&] { loader.next(4, scratch.data(), scratch.data()); });
      EXPECT_EQ(loader.position(), 13);
    }
    EXPECT_EQ(take(&loader, 2), std::vector<int64_t>(order.begin() + 13, order.begin() + good));
  }
}

TEST_F(LoaderTest, CanBeDroppedWhileItReadsAhead) {
  const TokenCache cache(directory_);
  for (int64_t taken = 0; taken < 12; ++taken) {
    TrainingLoader loader(cache, options());
    take(&loader, taken);
  }
}

}  // namespace
}  // namespace saddle::data
