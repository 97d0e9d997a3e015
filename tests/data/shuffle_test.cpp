#include "data/shuffle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "data/fixtures.h"
#include "data/pipeline.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace saddle::data {
namespace {

// Documents whose texts are the numbers 0 .. count-1.
class ShuffleTest : public ::testing::Test {
 protected:
  void write_numbers(int64_t count) const {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < count; ++i) texts.push_back(std::to_string(i));
    write_bytes(file_, json_lines(texts));
  }
  std::vector<int64_t> drawn(int64_t capacity, uint64_t seed) const {
    DocumentShuffler shuffler(DocumentReader({file_}), capacity, seed);
    std::vector<int64_t> order;
    while (std::optional<DrawnDocument> document = shuffler.next()) {
      order.push_back(std::stoll(document->text));
    }
    return order;
  }
  TemporaryDirectory directory_;
  Path file_ = directory_ / "train.json";
};

std::vector<int64_t> counting(int64_t count) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

TEST_F(ShuffleTest, ABufferOfOneKeepsTheOrder) {
  write_numbers(50);
  EXPECT_EQ(drawn(1, 42), counting(50));
}

TEST_F(ShuffleTest, EveryDocumentComesOnceAndNoneBeforeItWasRead) {
  write_numbers(300);
  for (const int64_t capacity : {2, 7, 100, 300, 1000}) {
    std::vector<int64_t> order = drawn(capacity, 42);
    for (size_t i = 0; i < order.size(); ++i) {
      EXPECT_LT(order[i], static_cast<int64_t>(i) + capacity);
    }
    EXPECT_NE(order, counting(300));
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, counting(300));
  }
}

TEST_F(ShuffleTest, TheOrderIsThatOfTheSeed) {
  write_numbers(100);
  EXPECT_EQ(drawn(20, 42), drawn(20, 42));
  EXPECT_NE(drawn(20, 42), drawn(20, 43));
  EXPECT_NE(drawn(20, 42), drawn(21, 42));
}

TEST_F(ShuffleTest, EveryDocumentComesFirstAboutAsOften) {
  write_numbers(8);
  std::vector<int64_t> first(8);
  for (uint64_t seed = 0; seed < 400; ++seed) ++first[static_cast<size_t>(drawn(8, seed)[0])];
  // 50 are expected with a deviation of sqrt(400 * 1/8 * 7/8) = 6.6: five of them either way.
  for (const int64_t count : first) EXPECT_NEAR(static_cast<double>(count), 50.0, 33.0);
}

TEST_F(ShuffleTest, AnEmptyBufferIsRefused) {
  write_numbers(1);
  expect_error(ErrorKind::kConfig, {"at least 1 document"}, [&] { drawn(0, 42); });
}

TEST_F(ShuffleTest, ThePipelineKeepsTheOrderWithAnyNumberOfWorkers) {
  const Tokenizer tokenizer(make_tokenizer(directory_.path()));
  write_numbers(1000);
  for (const int64_t workers : {1, 2, 9}) {
    TokenPipeline pipeline(DocumentShuffler(DocumentReader({file_}), 1, 0), tokenizer, workers);
    for (int64_t i = 0; i < 1000; ++i) {
      std::vector<uint16_t> expected = tokenizer.encode(std::to_string(i));
      expected.push_back(tokenizer.eos_id());
      const std::optional<TokenizedDocument> document = pipeline.next();
      ASSERT_TRUE(document.has_value());
      EXPECT_EQ(document->tokens, expected);
      EXPECT_EQ(document->state.documents, i + 1);
    }
    EXPECT_FALSE(pipeline.next().has_value());
    EXPECT_FALSE(pipeline.next().has_value());
    EXPECT_EQ(pipeline.final_state().documents, 1000);
  }
}

TEST_F(ShuffleTest, ThePipelineThrowsWhereTheBadLineIs) {
  const Tokenizer tokenizer(make_tokenizer(directory_.path()));
  for (const int64_t good : {0, 1, 63, 64, 200}) {
    write_numbers(good);
    write_bytes(file_, read_bytes(file_) + "oops\n");
    TokenPipeline pipeline(DocumentShuffler(DocumentReader({file_}), 1, 0), tokenizer, 3);
    for (int64_t i = 0; i < good; ++i) EXPECT_TRUE(pipeline.next().has_value());
    expect_error(ErrorKind::kData, {fmt::format("line {}", good + 1)}, [&] { pipeline.next(); });
  }
}

TEST_F(ShuffleTest, ThePipelineCanBeDroppedAtAnyMoment) {
  const Tokenizer tokenizer(make_tokenizer(directory_.path()));
  write_numbers(5000);
  for (const int64_t taken : {0, 1, 100}) {
    TokenPipeline pipeline(DocumentShuffler(DocumentReader({file_}), 10, 0), tokenizer, 2);
    for (int64_t i = 0; i < taken; ++i) pipeline.next();
  }
}

}  // namespace
}  // namespace saddle::data
