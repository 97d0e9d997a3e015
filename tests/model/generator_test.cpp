// Position by position against the execution of whole sequences.
#include "model/generator.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "model/initial_weights.h"
#include "model/reference.h"
#include "support/difference.h"
#include "support/expect_error.h"
#include "support/golden.h"
#include "support/test_context.h"

namespace saddle::model {
namespace {

constexpr config::ModelSettings kModel{
    .vocab_size = 97, .context_length = 600, .layers = 2, .width = 24, .heads = 3, .ffn_width = 40};

std::vector<int32_t> random_tokens(int64_t count) {
  const RandomStream random(5, RandomPurpose::kTest);
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<int32_t>(random.below(i, kModel.vocab_size)));
  }
  return tokens;
}

// Weights large enough that logits differ and attention reaches far back.
template <class T>
backend::Arena<T> weights(backend::Context& context) {
  backend::Arena<T> arena(context, Parameters(kModel).layout, 1);
  const RandomStream random(9, RandomPurpose::kTest);
  std::vector<double> values(arena.layout().size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.3 * random.normal(i);
  golden::parameters_from_host(values, arena);
  return arena;
}

template <class T>
std::vector<T> reference_logits(backend::Context& context, const backend::Arena<T>& arena,
                                const std::vector<int32_t>& tokens) {
  Reference<T> reference(context, kModel, {}, 1, arena, nullptr);
  reference.set_batch(1, tokens.data(), tokens.data());
  reference.run_losses();
  return backend::to_host<T>(context, reference.logits());
}

// Logits of all positions, computed in pieces of `piece` tokens.
template <class T>
std::vector<T> generator_logits(Generator<T>& generator, const std::vector<int32_t>& tokens,
                                size_t piece) {
  for (size_t first = 0; first < tokens.size(); first += piece) {
    generator.append(std::span(tokens).subspan(first, std::min(piece, tokens.size() - first)));
  }
  return generator.logits(0, generator.positions());
}

// Logits are near 5, and sums have at most 600 terms in a different order: 1e-12 is a hundred times
// the rounding observed in float64. Position by position, in pieces, and all at once, with 600
// positions: several chunks of attention and of the generator.
TEST(Generator, LogitsEqualTheReferenceInFloat64AtAllPositions) {
  backend::Context context = test_context(2);
  const backend::Arena<double> arena = weights<double>(context);
  const std::vector<int32_t> tokens = random_tokens(kModel.context_length);
  const std::vector<double> expected = reference_logits(context, arena, tokens);
  Generator<double> generator(context, kModel, arena);
  for (const size_t piece : {1, 7, 130, 600}) {
    generator.clear();
    EXPECT_LT(largest_difference(generator_logits(generator, tokens, piece), expected), 1e-12)
        << "in pieces of " << piece;
  }
}

// 24 bits: 1e-7 of values up to 20, through two blocks and their sums.
TEST(Generator, LogitsEqualTheReferenceInFloat32) {
  backend::Context context = test_context(2);
  const backend::Arena<float> arena = weights<float>(context);
  const std::vector<int32_t> tokens = random_tokens(kModel.context_length);
  Generator<float> generator(context, kModel, arena);
  EXPECT_LT(largest_difference(generator_logits(generator, tokens, 1),
                               reference_logits(context, arena, tokens)),
            2e-3);
}

TEST(Generator, LogitsOfSomePositionsArePartOfAllLogits) {
  backend::Context context = test_context(1);
  const backend::Arena<double> arena = weights<double>(context);
  Generator<double> generator(context, kModel, arena);
  const std::vector<double> all = generator_logits(generator, random_tokens(20), 20);
  const std::vector<double> part = generator.logits(3, 4);
  const std::vector<double> expected(all.begin() + 3 * kModel.vocab_size,
                                     all.begin() + 7 * kModel.vocab_size);
  EXPECT_LT(largest_difference(part, expected), 1e-13);  // products with other numbers of rows
}

TEST(Generator, RefusesWhatDoesNotFit) {
  backend::Context context = test_context(1);
  const backend::Arena<float> arena = weights<float>(context);
  Generator<float> generator(context, kModel, arena);
  const auto append = [&](const std::vector<int32_t>& tokens) { generator.append(tokens); };
  expect_error(ErrorKind::kData, {"97", "vocabulary"}, [&] { append({1, 97}); });
  expect_error(ErrorKind::kData, {"-1"}, [&] { append({-1}); });
  EXPECT_EQ(generator.positions(), 0);
  expect_error(ErrorKind::kInternal, {"601", "600"}, [&] { append(random_tokens(601)); });
  append(random_tokens(600));
  EXPECT_EQ(generator.positions(), generator.capacity());
  expect_error(ErrorKind::kInternal, {"0 positions"}, [&] { append({1}); });
  expect_error(ErrorKind::kInternal, {"but 600 were run"}, [&] { generator.logits(600, 1); });
}

}  // namespace
}  // namespace saddle::model
