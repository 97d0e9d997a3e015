#include "model/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace saddle::model {

void check_sampling(const SamplingOptions& options) {
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature)) {
    fail(ErrorKind::kUsage, "the temperature is {}, but must be a number of at least 0",
         options.temperature);
  }
  if (options.top_k < 0) {
    fail(ErrorKind::kUsage, "top-k is {}, but must be at least 0", options.top_k);
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    fail(ErrorKind::kUsage, "top-p is {}, but must be above 0 and at most 1", options.top_p);
  }
}

template <class T>
int32_t sample_token(std::span<const T> logits, const SamplingOptions& options, double uniform) {
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!std::isfinite(logits[i])) {
      fail(ErrorKind::kNumeric, "the logit of token {} is {}", i, logits[i]);
    }
  }
  const auto larger = [&](int32_t a, int32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  if (options.temperature == 0) return *std::min_element(ids.begin(), ids.end(), larger);
  if (options.top_k > 0 && options.top_k < static_cast<int64_t>(ids.size())) {
    std::nth_element(ids.begin(), ids.begin() + (options.top_k - 1), ids.end(), larger);
    ids.resize(options.top_k);
  }
  std::sort(ids.begin(), ids.end(), larger);

  std::vector<double> weights(ids.size());
  const double largest = logits[ids.front()];
  for (size_t i = 0; i < ids.size(); ++i) {
    weights[i] = std::exp((static_cast<double>(logits[ids[i]]) - largest) / options.temperature);
  }
  if (options.top_p < 1) {
    const double wanted = options.top_p * std::accumulate(weights.begin(), weights.end(), 0.0);
    size_t kept = 0;
    for (double sum = 0; kept < weights.size() && sum < wanted; ++kept) sum += weights[kept];
    weights.resize(kept);
  }
  double left = uniform * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return ids[i];
  }
  return ids[weights.size() - 1];  // reached only by rounding of the sum
}

template int32_t sample_token<float>(std::span<const float>, const SamplingOptions&, double);
template int32_t sample_token<double>(std::span<const double>, const SamplingOptions&, double);

}  // namespace saddle::model
