#include "data/evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/ignored_target.h"
#include "data/unigram.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "support/token_cache.h"

namespace saddle::data {
namespace {

class EvaluationTest : public ::testing::Test {
 protected:
  // A cache whose validation ids count from 0.
  TokenCache make_cache(int64_t validation_tokens) {
    const Path directory = temporary_ / std::to_string(validation_tokens);
    write_token_cache(directory, counting_ids(9, 60'000), counting_ids(validation_tokens, 60'000),
                      60'000, 16);
    return TokenCache(directory);
  }
  TemporaryDirectory temporary_;
};

TEST_F(EvaluationTest, TheStreamGivesEveryTargetOnceInOrder) {
  for (const int64_t tokens : {2, 4, 5, 6, 8, 9, 33, 40, 41}) {
    const TokenCache cache = make_cache(tokens);
    for (const int64_t count : {1, 3, 100}) {
      SCOPED_TRACE(fmt::format("{} tokens, {} blocks at once", tokens, count));
      ValidationStream stream(cache, 4);
      EXPECT_EQ(stream.targets(), tokens - 1);
      EXPECT_EQ(stream.blocks(), (tokens - 1 + 3) / 4);
      std::vector<int32_t> inputs(static_cast<size_t>(count * 4));
      std::vector<int32_t> targets(inputs.size());
      int64_t seen = 0;
      int64_t blocks = 0;
      while (true) {
        std::fill(inputs.begin(), inputs.end(), -7);
        std::fill(targets.begin(), targets.end(), -7);
        const int64_t real = stream.next(count, inputs.data(), targets.data());
        for (size_t i = 0; i < inputs.size(); ++i) {
          const bool inside = seen < tokens - 1;
          EXPECT_EQ(inputs[i], inside ? seen : 0);
          EXPECT_EQ(targets[i], inside ? seen + 1 : kIgnoredTarget);
          EXPECT_TRUE(!inside || static_cast<int64_t>(i) < real * 4);
          seen += inside ? 1 : 0;
        }
        blocks += real;
        EXPECT_EQ(stream.position(), blocks);
        if (real == 0) break;
      }
      EXPECT_EQ(seen, tokens - 1);
      EXPECT_EQ(blocks, stream.blocks());
    }
  }
}

TEST_F(EvaluationTest, TheSubsetIsThatOfTheSeed) {
  const TokenCache cache = make_cache(20 * 8 + 5);  // 20 full blocks of 8, and 4 more targets
  const ValidationSubset subset = validation_subset(cache, 6, 12'345, 8);
  EXPECT_EQ(subset.blocks, 6);
  EXPECT_EQ(subset.context_length, 8);
  // From a separate program: the first 6 of a Fisher-Yates order of 20, Philox stream (12345, 5,
  // 0).
  EXPECT_EQ(subset.block_indices, (std::vector<int64_t>{2, 9, 10, 11, 13, 18}));
  ASSERT_EQ(subset.inputs.size(), 48U);
  ASSERT_EQ(subset.targets.size(), 48U);
  for (size_t i = 0; i < 48; ++i) {
    EXPECT_EQ(subset.inputs[i], subset.block_indices[i / 8] * 8 + static_cast<int64_t>(i % 8));
    EXPECT_EQ(subset.targets[i], subset.inputs[i] + 1);
  }
  EXPECT_NE(validation_subset(cache, 6, 1, 8).block_indices, subset.block_indices);
}

TEST_F(EvaluationTest, TheSubsetTakesAllWhenThereAreFewer) {
  const TokenCache cache = make_cache(3 * 8 + 1);
  for (const int64_t asked : {3, 4, 1024}) {
    EXPECT_EQ(validation_subset(cache, asked, 5, 8).block_indices, (std::vector<int64_t>{0, 1, 2}));
  }
}

TEST_F(EvaluationTest, RefusesASplitThatIsTooSmall) {
  const TokenCache cache = make_cache(8);
  expect_error(ErrorKind::kData, {"too small", "at least 9 validation tokens", "found 8"},
               [&] { validation_subset(cache, 5, 1, 8); });
  expect_error(ErrorKind::kConfig, {"at least 1 block"},
               [&] { validation_subset(cache, 0, 1, 4); });
  const TokenCache single = make_cache(1);
  expect_error(ErrorKind::kData, {"at least 2 validation tokens", "found 1"},
               [&] { ValidationStream(single, 4); });
}

TEST_F(EvaluationTest, UnigramLossByHand) {
  // Training 0 0 0 1 of a vocabulary of 3: smoothed counts 4, 2, 1 of 7. The last training token
  // is not in the prefix, and the first validation token is no target.
  write_token_cache(temporary_ / "hand", {0, 0, 0, 1, 2}, {2, 0, 1, 2, 0}, 3);
  const TokenCache cache(temporary_ / "hand");
  const double expected = -(2 * std::log(4.0 / 7) + std::log(2.0 / 7) + std::log(1.0 / 7)) / 4;
  // A few operations in double: their rounding is far below this.
  EXPECT_NEAR(unigram_validation_loss(cache, 4), expected, 1e-14);
  EXPECT_EQ(count_tokens(cache, Split::kTrain, 1, 4).counts, (std::vector<int64_t>{2, 1, 1}));
  expect_error(ErrorKind::kData, {"1 to 5 training tokens", "found 6"},
               [&] { unigram_validation_loss(cache, 6); });
}

TEST_F(EvaluationTest, UnigramLossOfMuchTextApproachesItsEntropy) {
  const int64_t vocab_size = 50;
  write_token_cache(temporary_ / "random", random_ids(400'000, vocab_size, 1),
                    random_ids(400'000, vocab_size, 2), vocab_size, 100'000);
  // id = floor(50 u^2), so P(id < k) = sqrt(k / 50).
  double entropy = 0.0;
  for (int64_t id = 0; id < vocab_size; ++id) {
    const double p = std::sqrt(static_cast<double>(id + 1) / static_cast<double>(vocab_size)) -
                     std::sqrt(static_cast<double>(id) / static_cast<double>(vocab_size));
    entropy -= p * std::log(p);
  }
  // The mean of 400,000 surprisals with a deviation of about 0.8 is off by about 0.0013; the bound
  // is four times that.
  EXPECT_NEAR(unigram_validation_loss(TokenCache(temporary_ / "random"), 400'000), entropy, 0.005);
}

}  // namespace
}  // namespace saddle::data
