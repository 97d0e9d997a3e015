#include "curvature/directions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/ignored_target.h"
#include "base/random.h"
#include "curvature/stored_microbatches.h"
#include "data/loader.h"
#include "model/parameters.h"
#include "support/expect_error.h"
#include "support/golden.h"
#include "support/test_context.h"

namespace saddle::curvature {
namespace {

TEST(NoiseBatches, AreDrawnWithoutReplacementOnlyFromTheSeed) {
  const std::vector<int64_t> sample = noise_batches(1000, 32, 42);
  EXPECT_EQ(sample.size(), 32U);
  EXPECT_TRUE(std::is_sorted(sample.begin(), sample.end()));
  EXPECT_EQ(std::set<int64_t>(sample.begin(), sample.end()).size(), 32U);
  EXPECT_GE(sample.front(), 0);
  EXPECT_LT(sample.back(), 1000);
  EXPECT_EQ(noise_batches(1000, 32, 42), sample);
  EXPECT_NE(noise_batches(1000, 32, 43), sample);
  // A larger sample contains a smaller one.
  const std::vector<int64_t> more = noise_batches(1000, 64, 42);
  EXPECT_TRUE(std::includes(more.begin(), more.end(), sample.begin(), sample.end()));
}

TEST(NoiseBatches, AreAllIfThereAreNoMore) {
  const std::vector<int64_t> all = {0, 1, 2, 3, 4};
  EXPECT_EQ(noise_batches(5, std::nullopt, 1), all);
  EXPECT_EQ(noise_batches(5, 5, 1), all);
  EXPECT_EQ(noise_batches(5, 32, 1), all);
  EXPECT_TRUE(noise_batches(5, 0, 1).empty());
  expect_error(ErrorKind::kConfig, {"at least 0", "-1"}, [] { noise_batches(5, -1, 1); });
}

// Each batch is drawn equally often: in 4,000 draws of 3 of 12 each appears about 1,000 times, with
// a standard deviation of 27.
TEST(NoiseBatches, AreDrawnEvenly) {
  std::vector<int64_t> counts(12);
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    for (const int64_t batch : noise_batches(12, 3, seed)) ++counts[static_cast<size_t>(batch)];
  }
  for (const int64_t count : counts) EXPECT_NEAR(count, 1000, 140);
}

config::ModelSettings odd_model() {
  return {
      .vocab_size = 61, .context_length = 8, .layers = 2, .width = 10, .heads = 1, .ffn_width = 23};
}

template <class T>
std::vector<double> random_lane(int threads, int64_t k, int64_t lane, double* padding) {
  backend::Context context = test_context(threads);
  const model::Parameters parameters(odd_model());
  backend::Arena<T> directions(context, parameters.layout, 3);
  write_random_direction<T>(context, 42, k, directions, lane);
  const auto all = backend::to_host<T>(context, directions.all());
  *padding = std::accumulate(all.begin(), all.end(), 0.0,
                             [](double sum, T x) { return sum + static_cast<double>(x * x); }) -
             static_cast<double>(parameters.layout.size());
  return golden::parameters_to_host(directions, 0, lane);
}

TEST(RandomDirections, AreTheSignsOfTheirStreamWithoutPadding) {
  double padding = 0;
  for (const int64_t k : {0, 5}) {
    const std::vector<double> signs = random_lane<double>(1, k, 1, &padding);
    EXPECT_EQ(padding, 0) << "other lanes and padding stay zero";
    const RandomStream random(42, RandomPurpose::kDirection, static_cast<uint64_t>(k));
    for (size_t i = 0; i < signs.size(); ++i) ASSERT_EQ(signs[i], random.rademacher(i)) << i;
    EXPECT_EQ(random_lane<double>(2, k, 2, &padding), signs) << "threads, lane";
    EXPECT_EQ(random_lane<float>(1, k, 0, &padding), signs) << "number type";
  }
  EXPECT_NE(random_lane<float>(1, 0, 0, &padding), random_lane<float>(1, 1, 0, &padding));
}

TEST(StoredMicrobatches, DivideTheirSequences) {
  std::vector<int32_t> inputs(5 * 3), targets(5 * 3);
  std::iota(inputs.begin(), inputs.end(), 0);
  std::iota(targets.begin(), targets.end(), 1);
  targets[4] = kIgnoredTarget;
  StoredMicrobatches microbatches(inputs, targets, 3, 2);
  EXPECT_EQ(microbatches.count(), 3);
  EXPECT_EQ(microbatches.targets(), 14);
  Microbatch microbatch;
  microbatches.read(2, microbatch);
  EXPECT_EQ(microbatch.sequences, 1);
  EXPECT_EQ(microbatch.inputs, (std::vector<int32_t>{12, 13, 14}));
  EXPECT_EQ(microbatch.targets, (std::vector<int32_t>{13, 14, 15}));
  microbatches.read(0, microbatch);
  EXPECT_EQ(microbatch.sequences, 2);
  EXPECT_EQ(microbatch.inputs, (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
  expect_error(ErrorKind::kInternal, {"microbatch 3 of 3"},
               [&] { microbatches.read(3, microbatch); });
  expect_error(ErrorKind::kInternal, {"15 inputs", "sequences of 4"},
               [&] { StoredMicrobatches(inputs, targets, 4, 2); });
  targets.assign(targets.size(), kIgnoredTarget);
  expect_error(ErrorKind::kData, {"5 sequences is ignored"},
               [&] { StoredMicrobatches(inputs, targets, 3, 2); });
}

}  // namespace
}  // namespace saddle::curvature
