// The unigram distribution of the training tokens: what a model that ignores its context can reach.
#pragma once

#include <cstdint>
#include <vector>

#include "data/cache.h"

namespace saddle::data {

struct UnigramStatistics {
  int64_t tokens = 0;
  std::vector<int64_t> counts;  // [vocab_size], summing to tokens

  // The mean of -log p(target) in nats over targets with the counts `targets` [vocab_size], where
  // p(v) = (counts[v] + 1) / (tokens + vocab_size): add-one smoothing, so that an id never seen in
  // training has a probability.
  double cross_entropy(const std::vector<int64_t>& targets) const;
};

// Counts the tokens [first, first + count) of a split.
UnigramStatistics count_tokens(const TokenCache& cache, Split split, int64_t first, int64_t count);

// Cross-entropy in nats of the unigram distribution of the first `train_tokens` training tokens on
// every validation target (each validation token but the first).
double unigram_validation_loss(const TokenCache& cache, int64_t train_tokens);

}  // namespace saddle::data
