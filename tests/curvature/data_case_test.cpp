#include "curvature/data_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "config/load.h"
#include "data/fixtures.h"
#include "data/prepare.h"
#include "support/expect_error.h"
#include "support/run_program.h"
#include "train/small_run.h"

namespace saddle::curvature {
namespace {

constexpr int64_t kContext = 8;
constexpr int64_t kVocabulary = 65'521;  // larger than the token count: an id encodes its place
constexpr int64_t kBudget = 270;
constexpr int64_t kEpoch = 27;

// The block of a sequence; its targets must be its inputs shifted by one.
int64_t block_of(const Microbatch& microbatch, int64_t row) {
  const int64_t first = microbatch.inputs.at(static_cast<size_t>(row * kContext));
  EXPECT_EQ(first % kContext, 0);
  for (int64_t i = 0; i < kContext; ++i) {
    EXPECT_EQ(microbatch.inputs.at(static_cast<size_t>(row * kContext + i)), first + i);
    EXPECT_EQ(microbatch.targets.at(static_cast<size_t>(row * kContext + i)), first + i + 1);
  }
  return first / kContext;
}

std::vector<int64_t> blocks_of(const Microbatch& microbatch) {
  EXPECT_EQ(static_cast<int64_t>(microbatch.inputs.size()), microbatch.sequences * kContext);
  EXPECT_EQ(microbatch.targets.size(), microbatch.inputs.size());
  std::vector<int64_t> blocks;
  for (int64_t row = 0; row < microbatch.sequences; ++row) {
    blocks.push_back(block_of(microbatch, row));
  }
  return blocks;
}

class DataCases : public ::testing::Test {
 protected:
  DataCases() : settings_(train::small_settings(directory_.path())) {
    settings_.model.vocab_size = kVocabulary;
    write_cache(settings_.data.cache, (kBudget + kEpoch) * kContext + 1);
  }

  static void write_cache(const Path& path, int64_t tokens, int64_t first = 0) {
    data::write_token_cache(path, data::counting_ids(tokens, kVocabulary, first),
                            data::counting_ids(3, kVocabulary), kVocabulary, 500);
  }

  // The blocks of the whole budget in the order of training, computed from BlockOrder.
  std::vector<int64_t> trained_order() const {
    const int64_t range =
        data::blocks_per_range(settings_.data.buffer_size_mib * (int64_t{1} << 20), kContext);
    const data::BlockOrder order(kBudget, range, 42);
    std::vector<int64_t> blocks;
    for (int64_t i = 0; i < kBudget; ++i) blocks.push_back(order.block_at(i));
    return blocks;
  }

  // The blocks of a case in its order, `sequences` at a time.
  static std::vector<int64_t> epoch_of(EpochMicrobatches& microbatches) {
    std::vector<int64_t> blocks;
    Microbatch microbatch;
    for (int64_t i = 0; i < microbatches.count(); ++i) {
      microbatches.read(i, microbatch);
      const std::vector<int64_t> part = blocks_of(microbatch);
      blocks.insert(blocks.end(), part.begin(), part.end());
    }
    return blocks;
  }

  TemporaryDirectory directory_;
  config::Settings settings_;
};

TEST_F(DataCases, SeenIsTheFirstEpochInItsOrderAndBatches) {
  const data::TokenCache cache(settings_.data.cache);
  const DataCase data(cache, settings_, DataCaseKind::kSeen);
  EXPECT_EQ(data.blocks(), kEpoch);
  EXPECT_EQ(data.targets(), kEpoch * kContext);
  EXPECT_EQ(data.batches(), 4);  // 8, 8, 8 and 3 sequences
  std::vector<int64_t> expected = trained_order();
  expected.resize(kEpoch);
  for (int64_t sequences : {1, 4, 5, 27, 100}) {
    EpochMicrobatches microbatches(data, sequences);
    EXPECT_EQ(microbatches.count(), (kEpoch + sequences - 1) / sequences);
    EXPECT_EQ(microbatches.targets(), kEpoch * kContext);
    EXPECT_EQ(epoch_of(microbatches), expected) << sequences;
    EXPECT_EQ(epoch_of(microbatches), expected) << "a second pass of " << sequences;
  }
  Microbatch batch;
  for (int64_t k = 0; k < 4; ++k) {
    data.read_batch(k, 0, batch);
    const std::vector<int64_t> blocks = blocks_of(batch);
    EXPECT_EQ(static_cast<int64_t>(blocks.size()), k < 3 ? 8 : 3);
    EXPECT_TRUE(std::equal(blocks.begin(), blocks.end(), expected.begin() + 8 * k)) << k;
  }
}

TEST_F(DataCases, ALoaderOfTheRunReadsTheSame) {
  settings_.data.buffer_size_mib = 1;
  const data::TokenCache cache(settings_.data.cache);
  data::TrainingLoader loader(
      cache, {.context_length = kContext, .total_blocks = kBudget, .buffer_bytes = 1 << 20});
  const DataCase data(cache, settings_, DataCaseKind::kSeen);
  Microbatch batch;
  for (const int64_t blocks : {8, 8, 8, 3}) {
    std::vector<int32_t> inputs(static_cast<size_t>(blocks * kContext)), targets(inputs);
    const int64_t k = loader.position() / 8;
    loader.next(blocks, inputs.data(), targets.data());
    data.read_batch(k, 0, batch);
    EXPECT_EQ(batch.inputs, inputs);
    EXPECT_EQ(batch.targets, targets);
  }
}

TEST_F(DataCases, WorkersGetEveryNthSequenceOfABatch) {
  settings_.training.batch_tokens = 9 * kContext;
  const data::TokenCache cache(settings_.data.cache);
  const DataCase data(cache, settings_, DataCaseKind::kSeen, 3);
  EXPECT_EQ(data.batches(), 3);
  const std::vector<int64_t> order = trained_order();
  Microbatch batch;
  for (int64_t k = 0; k < 3; ++k) {
    for (int64_t worker = 0; worker < 3; ++worker) {
      data.read_batch(k, worker, batch);
      const auto at = [&](int64_t i) { return order[static_cast<size_t>(9 * k + worker + 3 * i)]; };
      EXPECT_EQ(blocks_of(batch), (std::vector<int64_t>{at(0), at(1), at(2)}));
    }
  }
  expect_error(ErrorKind::kConfig, {"9 sequences", "27", "2 workers"},
               [&] { DataCase(cache, settings_, DataCaseKind::kSeen, 2); });
  expect_error(ErrorKind::kInternal, {"batch 3"}, [&] { data.read_batch(3, 0, batch); });
  expect_error(ErrorKind::kInternal, {"worker 3"}, [&] { data.read_batch(0, 3, batch); });
}

TEST_F(DataCases, UnseenIsTheEpochAfterTheBudgetInItsOwnOrder) {
  const data::TokenCache cache(settings_.data.cache);
  const DataCase data(cache, settings_, DataCaseKind::kUnseen);
  EXPECT_EQ(data.blocks(), kEpoch);
  EXPECT_EQ(data.batches(), 4);
  EpochMicrobatches microbatches(data, 4);
  const std::vector<int64_t> blocks = epoch_of(microbatches);
  std::vector<int64_t> ascending = blocks;
  std::sort(ascending.begin(), ascending.end());
  EXPECT_NE(blocks, ascending);
  for (int64_t i = 0; i < kEpoch; ++i) EXPECT_EQ(ascending[static_cast<size_t>(i)], kBudget + i);
  // Not the order of the same blocks with the seed of the run.
  const data::BlockOrder same_seed(kEpoch, kEpoch, 42);
  bool differs = false;
  for (int64_t i = 0; i < kEpoch; ++i) {
    differs |= blocks[static_cast<size_t>(i)] - kBudget != same_seed.block_at(i);
  }
  EXPECT_TRUE(differs);

  const DataCase again(cache, settings_, DataCaseKind::kUnseen);
  EpochMicrobatches others(again, 7);
  EXPECT_EQ(epoch_of(others), blocks);
  settings_.runtime.seed = 43;
  const DataCase other_seed(cache, settings_, DataCaseKind::kUnseen);
  EpochMicrobatches other_order(other_seed, 7);
  EXPECT_NE(epoch_of(other_order), blocks);
}

TEST_F(DataCases, AnyMicrobatchCanBeReadAtAnyTime) {
  const data::TokenCache cache(settings_.data.cache);
  const DataCase data(cache, settings_, DataCaseKind::kUnseen);
  EpochMicrobatches in_order(data, 4), at_random(data, 4);
  Microbatch expected, found;
  std::vector<Microbatch> all;
  for (int64_t i = 0; i < in_order.count(); ++i) in_order.read(i, all.emplace_back());
  for (const int64_t i : {6, 0, 1, 5, 5, 2}) {
    at_random.read(i, found);
    EXPECT_EQ(found.sequences, all[static_cast<size_t>(i)].sequences);
    EXPECT_EQ(found.inputs, all[static_cast<size_t>(i)].inputs);
    EXPECT_EQ(found.targets, all[static_cast<size_t>(i)].targets);
  }
  expect_error(ErrorKind::kInternal, {"microbatch 7 of 7"}, [&] { at_random.read(7, found); });
  expect_error(ErrorKind::kConfig, {"at least 1"}, [&] { EpochMicrobatches(data, 0); });
}

TEST_F(DataCases, ASmallCacheIsRefusedWithItsNumbers) {
  settings_.data.cache = (directory_ / "it's small").string();
  settings_.data.shuffle_seed = 5;
  write_cache(settings_.data.cache, (kBudget + kEpoch) * kContext);
  const data::TokenCache cache(settings_.data.cache);
  EXPECT_EQ(DataCase(cache, settings_, DataCaseKind::kSeen).blocks(), kEpoch);
  EXPECT_EQ(tokens_needed(settings_, DataCaseKind::kSeen), kBudget * kContext + 1);
  EXPECT_EQ(tokens_needed(settings_, DataCaseKind::kUnseen), 2377);
  expect_error(ErrorKind::kData,
               {"unseen", "2377", "2376", "saddle prepare --config ", "run/resolved.yaml",
                "it'\\''s small-2377'", "--set data.prepare_train_tokens=2377",
                "--set data.shuffle_seed=0", "--set data.source=FOLDER"},
               [&] { DataCase(cache, settings_, DataCaseKind::kUnseen); });
  settings_.training.max_tokens = 300 * kContext;
  expect_error(ErrorKind::kData, {"seen", "2401", "2376"},
               [&] { DataCase(cache, settings_, DataCaseKind::kSeen); });
}

// Runs the command in the message unchanged.
TEST_F(DataCases, TheSuggestedCommandMakesALargeEnoughCache) {
  const Path source = directory_ / "some source";
  make_directories(source);
  data::write_bytes(source / "c4-train.0.json", data::json_lines(data::some_documents(1, 120)));
  data::write_bytes(source / "c4-validation.0.json", data::json_lines(data::some_documents(3, 9)));
  settings_.model.vocab_size = data::kTinyVocabulary;
  settings_.data.source = {source.string()};
  settings_.data.tokenizer = data::make_tokenizer(directory_.path()).string();
  settings_.data.cache = (directory_ / "tokens/").string();
  settings_.data.shuffle_buffer = 30;
  make_directories(settings_.runtime.output_dir);
  const Path resolved = Path(settings_.runtime.output_dir) / "resolved.yaml";
  write_file_atomically(resolved, config::to_yaml(settings_));
  const ProgramResult prepared = run_saddle("prepare --config '" + resolved.string() + "'");
  ASSERT_EQ(prepared.exit_code, 0) << prepared.errors;

  const data::TokenCache cache(settings_.data.cache);
  std::string command;
  try {
    const DataCase data(cache, settings_, DataCaseKind::kUnseen);
    FAIL() << "the cache is large enough";
  } catch (const Error& error) {
    command = error.what();
  }
  const std::string program = "saddle prepare";
  ASSERT_NE(command.find(program), std::string::npos) << command;
  const ProgramResult result =
      run_saddle("prepare" + command.substr(command.find(program) + program.size()));
  ASSERT_EQ(result.exit_code, 0) << command << result.errors;

  const data::TokenCache larger(directory_ / "tokens-2377");
  EXPECT_EQ(DataCase(larger, settings_, DataCaseKind::kUnseen).blocks(), kEpoch);
  check_same_beginning(cache, larger, cache.tokens(data::Split::kTrain));
}

TEST_F(DataCases, CachesThatBeginDifferentlyAreRefused) {
  const data::TokenCache cache(settings_.data.cache);
  write_cache(directory_ / "larger", 3000);
  const data::TokenCache larger(directory_ / "larger");
  check_same_beginning(cache, larger, 2377);
  std::vector<uint16_t> ids = data::counting_ids(3000, kVocabulary);
  ids[2000] = 7;
  data::write_token_cache(directory_ / "other", ids, data::counting_ids(3, kVocabulary),
                          kVocabulary);
  const data::TokenCache other(directory_ / "other");
  check_same_beginning(cache, other, 2000);
  expect_error(ErrorKind::kConfig, {"other", "token 2000 is 7, expected 2000"},
               [&] { check_same_beginning(cache, other, 2001); });
  expect_error(ErrorKind::kConfig, {"at least 2378 training tokens, found 2377"},
               [&] { check_same_beginning(cache, larger, 2378); });
}

TEST_F(DataCases, DescribeEverythingThatDecidesTheSequences) {
  const data::TokenCache cache(settings_.data.cache);
  const Json seen = DataCase(cache, settings_, DataCaseKind::kSeen).describe();
  EXPECT_EQ(seen.at("case"), "seen");
  EXPECT_EQ(seen.at("cache_identity"), cache.identity());
  EXPECT_EQ(seen.at("order_seed"), 42);
  settings_.runtime.seed = 43;
  EXPECT_NE(DataCase(cache, settings_, DataCaseKind::kSeen).describe(), seen);
  settings_.runtime.seed = 42;
  settings_.training.batch_tokens = 9 * kContext;
  EXPECT_NE(DataCase(cache, settings_, DataCaseKind::kSeen).describe(), seen);
  const Json unseen = DataCase(cache, settings_, DataCaseKind::kUnseen).describe();
  EXPECT_EQ(unseen.at("first_block"), kBudget);
  EXPECT_EQ(unseen.at("epoch_blocks"), kEpoch);
}

TEST(DataCaseNames, AreThoseOfTheCommandLine) {
  for (const DataCaseKind kind : {DataCaseKind::kSeen, DataCaseKind::kUnseen}) {
    EXPECT_EQ(parse_data_case(data_case_name(kind)), kind);
  }
  expect_error(ErrorKind::kUsage, {"'all'", "seen or unseen"}, [] { parse_data_case("all"); });
}

}  // namespace
}  // namespace saddle::curvature
