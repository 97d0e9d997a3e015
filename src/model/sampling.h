// Drawing a token from logits.
#pragma once

#include <cstdint>
#include <span>

namespace saddle::model {

struct SamplingOptions {
  double temperature = 1;  // logits are divided by it; 0: always the largest logit
  int64_t top_k = 0;       // only the k largest logits; 0: all
  double top_p = 1;        // only the most probable tokens whose probabilities reach it together
};

// An Error of kind kUsage for a value that is not allowed.
void check_sampling(const SamplingOptions& options);

// The token that `uniform`, in [0, 1), draws. In this order: temperature, top_k, top_p (Holtzman et
// al., "The curious case of neural text degeneration", 2020, section 3.1). Of equal logits the
// lower id counts as larger. Errors: kNumeric when a logit is not finite.
template <class T>
int32_t sample_token(std::span<const T> logits, const SamplingOptions& options, double uniform);

}  // namespace saddle::model
