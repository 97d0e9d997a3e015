// Attention over a cache against attention over whole sequences.
#include "ops/cached_attention.h"

#include <gtest/gtest.h>

#include "ops/attention_steps.h"
#include "ops/tensors.h"
#include "support/difference.h"
#include "support/expect_error.h"
#include "support/test_context.h"

namespace saddle::ops {
namespace {

constexpr int64_t kWorkers = 2;
constexpr int64_t kPositions = 300;
constexpr int64_t kHeads = 3;
constexpr int64_t kHeadSize = 4;
constexpr int64_t kCols = kHeads * kHeadSize;

// The same in the steps that store everything.
template <class T>
std::vector<T> whole(Context& context, View<const T> q, View<const T> k, View<const T> v) {
  const AttentionShape shape{
      .sequences = 1, .positions = kPositions, .heads = kHeads, .head_size = kHeadSize};
  const Tensor<T> s(context, kWorkers, kHeads * kPositions, kPositions);
  const Tensor<T> o(context, kWorkers, kPositions, kCols);
  attention_scores_forward<T>(context, shape, q, k, s);
  causal_softmax_forward<T>(context, shape, s, s);
  attention_values_forward<T>(context, shape, s, v, o);
  return numbers_of<T>(context, o);
}

// In pieces that end at `ends`, each with the keys up to its end.
template <class T>
std::vector<T> in_pieces(Context& context, View<const T> q, View<const T> k, View<const T> v,
                         const std::vector<int64_t>& ends) {
  const Tensor<T> o(context, kWorkers, kPositions, kCols);
  int64_t first = 0;
  for (const int64_t end : ends) {
    cached_attention_forward<T>(context, kHeads, q.row_range(first, end - first),
                                k.row_range(0, end), v.row_range(0, end),
                                o.view().row_range(first, end - first));
    first = end;
  }
  return numbers_of<T>(context, o);
}

template <class T>
double error_in_pieces(const std::vector<int64_t>& ends) {
  Context context = test_context(ends.size() < 10 ? 2 : 1);  // small pieces leave nothing to divide
  const auto q = random_tensor<T>(context, kWorkers, kPositions, kCols, 1);
  const auto k = random_tensor<T>(context, kWorkers, kPositions, kCols, 2);
  const auto v = random_tensor<T>(context, kWorkers, kPositions, kCols, 3);
  return largest_difference(in_pieces<T>(context, q, k, v, ends), whole<T>(context, q, k, v));
}

// Values are of order 1; 300 terms summed in a different order differ in the last two digits.
TEST(CachedAttention, EqualsAttentionOverWholeSequences) {
  std::vector<int64_t> one_by_one;
  for (int64_t end = 1; end <= kPositions; ++end) one_by_one.push_back(end);
  const std::vector<std::vector<int64_t>> cuts = {
      {kPositions}, {128, kPositions}, {1, 2, 150, 299, kPositions}, one_by_one};
  for (const std::vector<int64_t>& ends : cuts) {
    EXPECT_LT(error_in_pieces<double>(ends), 1e-14) << ends.size() << " pieces";
    EXPECT_LT(error_in_pieces<float>(ends), 5e-6) << ends.size() << " pieces";
  }
}

TEST(CachedAttention, RefusesMoreQueriesThanKeysAndOtherShapes) {
  Context context = test_context(1);
  const Tensor<float> q(context, 1, 3, 8), k(context, 1, 2, 8), o(context, 1, 3, 8);
  const auto run = [&](int64_t heads, View<const float> keys) {
    cached_attention_forward<float>(context, heads, q, keys, keys, o);
  };
  expect_error(ErrorKind::kInternal, {"cached_attention"}, [&] { run(2, k); });
  expect_error(ErrorKind::kInternal, {"cached_attention"}, [&] { run(3, q); });
  run(2, q);
}

}  // namespace
}  // namespace saddle::ops
