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
  int64_t top_eigenvalues = 0;  // how many to report
  bool density = false;         // also compute the quadrature
  int64_t starts = 2;           // random start vectors of the density; eigenvalues use the first
  int64_t steps = 30;           // Lanczos steps from each: passes over the epoch

  bool wanted() const { return top_eigenvalues > 0 || density; }
};

struct SpectrumResult {
  std::vector<RitzValue> top;                  // descending, from the first start vector
  std::vector<std::vector<RitzValue>> starts;  // for the density: all, ascending, per start
};

struct SpectrumWork {
  bool autocast = false;
  int64_t hvp_batch_size = 1;   // sequences of a microbatch
  uint64_t seed = 42;           // of the start vectors: random signs
  int64_t direction_bytes = 0;  // for steps + 1 vectors
};

// Errors: kUsage, naming the option, for a value that is out of range or if there are fewer steps
// than eigenvalues; kConfig if the vectors, each of `vector_bytes`, do not fit into `bytes`.
void check_spectrum(const SpectrumOptions& options, int64_t vector_bytes, int64_t bytes);

// Nothing if `stop` asked to stop. Errors: those of check_spectrum(); kNumeric if a product is not
// finite.
template <class T>
std::optional<SpectrumResult> measure_spectrum(
    backend::Context& context, const config::ModelSettings& model, const DataCase& data,
    const backend::Arena<T>& weights, const SpectrumOptions& options, const SpectrumWork& work,
    const std::function<int()>& stop, Log& log);

// {"top_eigenvalues": [{value, residual}...], "density": [{nodes, weights, residuals}...]}; only
// the requested parts.
Json to_json(const SpectrumResult& result);

}  // namespace saddle::curvature
