#include "data/evaluation.h"

#include <algorithm>

#include "base/error.h"
#include "base/ignored_target.h"
#include "base/narrow.h"
#include "base/random.h"

namespace saddle::data {

namespace {

// The targets of the split: one less than its tokens. At least `least` of them must be there.
int64_t validation_targets(const TokenCache& cache, int64_t least, int64_t context_length) {
  if (context_length < 1) {
    fail(ErrorKind::kConfig, "expected a context of at least 1 token, found {}", context_length);
  }
  const int64_t tokens = cache.tokens(Split::kValidation);
  if (tokens < least + 1) {
    fail(ErrorKind::kData,
         "{}: the cache is too small: expected at least {} validation tokens, "
         "found {}",
         cache.directory().string(), least + 1, tokens);
  }
  return tokens - 1;
}

}  // namespace

ValidationStream::ValidationStream(const TokenCache& cache, int64_t context_length)
    : cache_(cache),
      context_length_(context_length),
      targets_(validation_targets(cache, 1, context_length)),
      blocks_((targets_ - 1) / context_length + 1) {}

int64_t ValidationStream::next(int64_t count, int32_t* inputs, int32_t* targets) {
  if (count < 0) fail(ErrorKind::kInternal, "{} validation blocks were requested", count);
  const int64_t real = std::min(count, blocks_ - position_);
  const int64_t first = position_ * context_length_;
  const int64_t used = real == 0 ? 0 : std::min(real * context_length_, targets_ - first);
  buffer_.resize(static_cast<size_t>(used + 1));
  if (real > 0) {
    cache_.read(Split::kValidation, first, used + 1, buffer_.data());
    std::copy(buffer_.begin(), buffer_.end() - 1, inputs);
    std::copy(buffer_.begin() + 1, buffer_.end(), targets);
  }
  std::fill(inputs + used, inputs + count * context_length_, 0);
  std::fill(targets + used, targets + count * context_length_, kIgnoredTarget);
  position_ += real;
  return real;
}

ValidationSubset validation_subset(const TokenCache& cache, int64_t subset_blocks, uint64_t seed,
                                   int64_t context_length) {
  const int64_t full = validation_targets(cache, context_length, context_length) / context_length;
  if (subset_blocks < 1) {
    fail(ErrorKind::kConfig, "expected a validation subset of at least 1 block, found {}",
         subset_blocks);
  }
  ValidationSubset subset;
  subset.blocks = std::min(subset_blocks, full);
  subset.context_length = context_length;
  subset.block_indices =
      random_permutation(RandomStream(seed, RandomPurpose::kEvaluationSubset), full);
  subset.block_indices.resize(static_cast<size_t>(subset.blocks));
  std::sort(subset.block_indices.begin(), subset.block_indices.end());
  std::vector<uint16_t> tokens(static_cast<size_t>(context_length + 1));
  for (const int64_t block : subset.block_indices) {
    cache.read(Split::kValidation, block * context_length, context_length + 1, tokens.data());
    subset.inputs.insert(subset.inputs.end(), tokens.begin(), tokens.end() - 1);
    subset.targets.insert(subset.targets.end(), tokens.begin() + 1, tokens.end());
  }
  return subset;
}

}  // namespace saddle::data
