#include "data/unigram.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace saddle::data {

namespace {
constexpr int64_t kPieceTokens = int64_t{1} << 20;
}  // namespace

double UnigramStatistics::cross_entropy(const std::vector<int64_t>& targets) const {
  if (targets.size() != counts.size()) {
    fail(ErrorKind::kInternal, "counts of {} ids do not fit counts of {}", targets.size(),
         counts.size());
  }
  const double total = static_cast<double>(tokens) + static_cast<double>(counts.size());
  double sum = 0.0;
  int64_t number = 0;
  for (size_t id = 0; id < counts.size(); ++id) {
    const double probability = (static_cast<double>(counts[id]) + 1.0) / total;
    sum -= static_cast<double>(targets[id]) * std::log(probability);
    number += targets[id];
  }
  if (number == 0) fail(ErrorKind::kData, "there are no targets for a cross-entropy");
  return sum / static_cast<double>(number);
}

UnigramStatistics count_tokens(const TokenCache& cache, Split split, int64_t first, int64_t count) {
  if (count < 0) fail(ErrorKind::kInternal, "{} tokens cannot be counted", count);
  UnigramStatistics statistics;
  statistics.tokens = count;
  statistics.counts.resize(static_cast<size_t>(cache.vocab_size()));
  std::vector<uint16_t> piece(static_cast<size_t>(std::min(count, kPieceTokens)));
  for (int64_t done = 0; done < count; done += kPieceTokens) {
    const int64_t size = std::min(kPieceTokens, count - done);
    cache.read(split, first + done, size, piece.data());
    for (int64_t i = 0; i < size; ++i) ++statistics.counts[piece[static_cast<size_t>(i)]];
  }
  return statistics;
}

double unigram_validation_loss(const TokenCache& cache, int64_t train_tokens) {
  const int64_t validation = cache.tokens(Split::kValidation);
  if (validation < 2 || train_tokens < 1 || train_tokens > cache.tokens(Split::kTrain)) {
    fail(
        ErrorKind::kData,
        "{}: a unigram loss needs 1 to {} training tokens and 2 validation tokens, found {} and {}",
        cache.directory().string(), cache.tokens(Split::kTrain), train_tokens, validation);
  }
  const UnigramStatistics train = count_tokens(cache, Split::kTrain, 0, train_tokens);
  return train.cross_entropy(count_tokens(cache, Split::kValidation, 1, validation - 1).counts);
}

}  // namespace saddle::data
