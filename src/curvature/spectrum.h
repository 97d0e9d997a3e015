// The largest eigenvalues and the spectral density of the Hessian at a checkpoint on a data case.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "curvature/data_case.h"
#include "curvature/lanczos.h"

namespace saddle::curvature {

struct SpectrumOptions {
  int64_t top_eigenvalues = 0;  // how many are reported
  bool density = false;         // the quadrature too
  int64_t starts = 2;           // random start vectors of the density; eigenvalues take the first
  int64_t steps = 30;           // Lanczos steps from each: passes over the epoch

  bool wanted() const { return top_eigenvalues > 0 || density; }
};

struct SpectrumResult {
  std::vector<RitzValue> top;                  // descending, from the first start vector
  std::vector<std::vector<RitzValue>> starts;  // all, ascending, for each start; the density's
};

struct SpectrumWork {
  bool autocast = false;
  int64_t hvp_batch_size = 1;   // sequences of a microbatch
  uint64_t seed = 42;           // of the start vectors: random signs
  int64_t direction_bytes = 0;  // for steps + 1 vectors
};

// Errors: kUsage for a value that is out of range, and when there are fewer steps than eigenvalues,
// by the name of the option; kConfig when the vectors, each of `vector_bytes`, do not fit `bytes`.
void check_spectrum(const SpectrumOptions& options, int64_t vector_bytes, int64_t bytes);

// Nothing when `stop` asked to. Errors: those of check_spectrum(); kNumeric when a product is not
// finite.
template <class T>
std::optional<SpectrumResult> measure_spectrum(
    backend::Context& context, const config::ModelSettings& model, const DataCase& data,
    const backend::Arena<T>& weights, const SpectrumOptions& options, const SpectrumWork& work,
    const std::function<int()>& stop, Log& log);

// {"top_eigenvalues": [{value, residual}...], "density": [{nodes, weights, residuals}...]}; without
// what was not asked for.
Json to_json(const SpectrumResult& result);

}  // namespace saddle::curvature
