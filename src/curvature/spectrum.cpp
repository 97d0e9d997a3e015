#include "curvature/spectrum.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "curvature/directions.h"
#include "curvature/hessian_vector_product.h"
#include "curvature/option_checks.h"
#include "model/parameters.h"
#include "ops/elementwise.h"

namespace saddle::curvature {
namespace {

// Start vectors are random directions that are not used as random samples.
constexpr int64_t kFirstStart = int64_t{1} << 31;

}  // namespace

void check_spectrum(const SpectrumOptions& options, int64_t vector_bytes, int64_t bytes) {
  if (options.top_eigenvalues < 0) {
    fail(ErrorKind::kUsage, "--top-eigenvalues is {}: at least 0 was expected",
         options.top_eigenvalues);
  }
  if (options.steps < std::max<int64_t>(options.top_eigenvalues, 1)) {
    fail(ErrorKind::kUsage,
         "--lanczos-steps is {}: at least 1 was expected, and at least as many as eigenvalues ({})",
         options.steps, options.top_eigenvalues);
  }
  check_samples("--spectrum-starts", options.starts, 1);
  const double needed =
      static_cast<double>(vector_bytes) * (static_cast<double>(options.steps) + 1);
  if (needed > static_cast<double>(bytes)) {
    fail(ErrorKind::kConfig,
         "{} Lanczos steps keep {:.3f} GiB of vectors, but {:.3f} GiB are allowed: raise "
         "--memory-gib or lower --lanczos-steps",
         options.steps, needed / kGibibyte, static_cast<double>(bytes) / kGibibyte);
  }
}

template <class T>
std::optional<SpectrumResult> measure_spectrum(
    backend::Context& context, const config::ModelSettings& model, const DataCase& data,
    const backend::Arena<T>& weights, const SpectrumOptions& options, const SpectrumWork& work,
    const std::function<int()>& stop, Log& log) {
  check_spectrum(options, weights.layout().padded_size() * static_cast<int64_t>(sizeof(T)),
                 work.direction_bytes);
  backend::Arena<T> basis(context, weights.layout(), options.steps + 1);
  HessianVectorProduct<T> hessian(context, model, work.autocast, work.hvp_batch_size, weights);
  EpochMicrobatches microbatches(data, work.hvp_batch_size);
  const int64_t starts = options.density ? options.starts : 1;
  const int64_t products = starts * options.steps;
  const Stopwatch watch;
  int64_t done = 0;
  const SymmetricOperator<T> apply = [&](backend::View<const T> v, backend::View<T> product) {
    const auto progress = [&](int64_t batches, int64_t total) {
      const double share =
          (static_cast<double>(done) + static_cast<double>(batches) / static_cast<double>(total)) /
          static_cast<double>(products);
      log.progress(fmt::format("{}: spectrum, product {} of {}, {} left",
                               data_case_name(data.kind()), done + 1, products,
                               human_duration(watch.seconds() * (1 / share - 1))));
      return stop() == 0;
    };
    if (!hessian.apply(microbatches, v, product, progress)) return false;
    ++done;
    return true;
  };

  SpectrumResult result;
  for (int64_t start = 0; start < starts; ++start) {
    ops::fill<T>(context, 0.0, basis.all());
    write_random_direction<T>(context, work.seed, kFirstStart + start, basis, 0);
    const auto tridiagonal = lanczos<T>(context, apply, options.steps, basis);
    if (!tridiagonal) return std::nullopt;
    std::vector<RitzValue> values = ritz_values(*tridiagonal);
    if (start == 0) {
      const size_t count = std::min(static_cast<size_t>(options.top_eigenvalues), values.size());
      result.top.assign(values.rbegin(), values.rbegin() + static_cast<int64_t>(count));
    }
    if (options.density) result.starts.push_back(std::move(values));
  }
  return result;
}

Json to_json(const SpectrumResult& result) {
  Json json = Json::object();
  if (!result.top.empty()) {
    Json top = Json::array();
    for (const RitzValue& value : result.top) {
      top.push_back({{"value", value.value}, {"residual", value.residual}});
    }
    json["top_eigenvalues"] = std::move(top);
  }
  if (!result.starts.empty()) {
    Json density = Json::array();
    for (const auto& values : result.starts) {
      Json nodes = Json::array(), weights = Json::array(), residuals = Json::array();
      for (const RitzValue& value : values) {
        nodes.push_back(value.value);
        weights.push_back(value.weight);
        residuals.push_back(value.residual);
      }
      density.push_back({{"nodes", nodes}, {"weights", weights}, {"residuals", residuals}});
    }
    json["density"] = std::move(density);
  }
  return json;
}

#define SADDLE_INSTANTIATE(T)                                                                     \
  template std::optional<SpectrumResult> measure_spectrum<T>(                                     \
      backend::Context&, const config::ModelSettings&, const DataCase&, const backend::Arena<T>&, \
      const SpectrumOptions&, const SpectrumWork&, const std::function<int()>&, Log&);
SADDLE_INSTANTIATE(float)
SADDLE_INSTANTIATE(double)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::curvature
