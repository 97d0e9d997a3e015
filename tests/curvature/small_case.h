// A tiny model with random weights, and a token cache that holds both data cases.
#pragma once

#include <functional>

#include "curvature/measure_case.h"
#include "model/initial_weights.h"
#include "support/golden.h"
#include "train/small_run.h"

namespace saddle::curvature {

inline constexpr int64_t kSmallContext = 8;

template <class T>
struct SmallCase {
  SmallCase()
      : settings(train::small_settings(directory.path())),
        cache(make_cache(settings)),
        context(train::kThreads),
        weights(context, model::Parameters(settings.model).layout, 1) {
    model::set_initial_weights<T>(context, settings.model, 7, weights);
    // Larger than initial weights, so that attention is not uniform.
    std::vector<double> larger = golden::parameters_to_host(weights);
    for (double& x : larger) x *= x == 1 ? 1 : 6;
    golden::parameters_from_host(larger, weights);
  }

  static data::TokenCache make_cache(const config::Settings& settings) {
    data::write_token_cache(settings.data.cache, data::random_ids(297 * kSmallContext + 1, 61, 1),
                            data::random_ids(24 * kSmallContext + 4, 61, 2), 61);
    return data::TokenCache(settings.data.cache);
  }

  CaseResult measure(
      const DataCase& data, const MeasureOptions& options, const OwnDirections<T>& directions = {},
      const std::function<int()>& stop = [] { return 0; }) {
    Log log = Log::silent();
    return measure_case<T>(context, settings, data, weights, options, directions, stop, log)
        .value();
  }

  TemporaryDirectory directory;
  config::Settings settings;
  data::TokenCache cache;
  backend::Context context;
  backend::Arena<T> weights;
};

}  // namespace saddle::curvature
