// Drawing a token from logits.
#pragma once

#include <cstdint>
#include <span>

namespace saddle::model {

struct SamplingOptions {
  double temperature = 1;  // logits are divided by it; 0: always the largest logit
  int64_t top_k = 0;       // only the k largest logits; 0: all
  double top_p = 1;        // only the most probable tokens, until their probabilities sum to it
};

// Error: kUsage for a value that is not allowed.
void check_sampling(const SamplingOptions& options);

// Draws the token for `uniform`, in [0, 1). Applies temperature, top_k and top_p in this order
// (Holtzman et al., "The curious case of neural text degeneration", 2020, section 3.1). Of equal
// logits the one with the lower id counts as larger. Errors: kNumeric if a logit is not finite.
template <class T>
int32_t sample_token(std::span<const T> logits, const SamplingOptions& options, double uniform);

}  // namespace saddle::model
