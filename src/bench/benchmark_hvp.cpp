#include "bench/benchmark_hvp.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/narrow.h"
#include "bench/random_ids.h"
#include "curvature/adjoint_weighted.h"
#include "curvature/directions.h"
#include "curvature/stored_microbatches.h"
#include "data/cache.h"
#include "model/initial_weights.h"
#include "model/parameters.h"
#include "model/weights_file.h"
#include "train/session.h"

namespace saddle::bench {
namespace {

// The tokens of blocks 0 .. sequences-1, and the token after them.
std::vector<int32_t> first_tokens(const config::Settings& settings, int64_t sequences) {
  const auto count = static_cast<size_t>(sequences * settings.model.context_length + 1);
  if (!data::is_cache(settings.data.cache)) {
    return random_ids(settings, static_cast<int64_t>(count), 0);
  }
  const data::TokenCache cache = train::open_cache(settings);
  if (cache.tokens(data::Split::kTrain) < static_cast<int64_t>(count)) {
    fail(ErrorKind::kConfig, "the token cache '{}' holds {} training tokens, {} sequences need {}",
         settings.data.cache, cache.tokens(data::Split::kTrain), sequences, count);
  }
  std::vector<uint16_t> stored(count);
  cache.read(data::Split::kTrain, 0, static_cast<int64_t>(count), stored.data());
  return {stored.begin(), stored.end()};
}

template <class T>
HvpMeasurement measure_forms(const config::Settings& settings, const HvpCandidate& candidate) {
  const uint64_t seed = narrow<uint64_t>(settings.runtime.seed);
  const std::vector<int32_t> tokens = first_tokens(settings, candidate.batch_size);
  curvature::StoredMicrobatches batch({tokens.begin(), tokens.end() - 1},
                                      {tokens.begin() + 1, tokens.end()},
                                      settings.model.context_length, candidate.batch_size);
  backend::Context context(train::computing_threads(settings));
  const tensor::Layout layout = model::Parameters(settings.model).layout;
  backend::Arena<T> weights(context, layout, 1);
  if (candidate.checkpoint.empty()) {
    model::set_initial_weights<T>(context, settings.model, seed, weights);
  } else {
    model::load_weights<T>(candidate.checkpoint, settings.model, weights);
  }
  backend::Arena<T> directions(context, layout, candidate.directions);
  for (int64_t k = 0; k < candidate.directions; ++k) {
    curvature::write_random_direction<T>(context, seed, k, directions, k);
  }
  const auto forms = curvature::make_quadratic_forms<T>(context, settings.model,
                                                        {candidate.method, settings.runtime.amp},
                                                        candidate.batch_size, weights);
  const curvature::Progress go_on = [](int64_t, int64_t) { return true; };
  // Touches all memory first: adjoint-weighted allocates that of directions swept together only
  // when it measures them.
  const int64_t together =
      candidate.method == curvature::Method::kAdjointWeighted ? curvature::kSweptTogether : 1;
  forms->measure(batch, directions, std::min(together, candidate.directions), go_on);
  HvpMeasurement result;
  for (int64_t round = 0; round < candidate.rounds; ++round) {
    const Stopwatch watch;
    result.forms = *forms->measure(batch, directions, candidate.directions, go_on);
    result.seconds.push_back(watch.seconds());
  }
  for (size_t k = 0; k < result.forms.size(); ++k) {
    if (std::isfinite(result.forms[k])) continue;
    fail(ErrorKind::kNumeric, "v'Hv of direction {} is {}: not finite", k, result.forms[k]);
  }
  result.peak_memory_bytes = peak_memory_bytes();
  return result;
}

}  // namespace

HvpMeasurement measure_hvp(const config::Settings& settings, const HvpCandidate& candidate) {
  return settings.runtime.dtype == config::Precision::kFloat64
             ? measure_forms<double>(settings, candidate)
             : measure_forms<float>(settings, candidate);
}

Json to_json(const HvpMeasurement& measurement) {
  return {{"forms", measurement.forms},
          {"seconds", measurement.seconds},
          {"peak_memory_bytes", measurement.peak_memory_bytes}};
}

}  // namespace saddle::bench
