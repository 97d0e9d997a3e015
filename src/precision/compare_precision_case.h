// The paired study of one checkpoint: the same batches and directions in float32 and under bf16
// autocast.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "backend/tensor.h"
#include "base/log.h"
#include "config/settings.h"
#include "curvature/case_result.h"
#include "curvature/data_case.h"

namespace saddle::precision {

// The difference of a vector b from the same vector a in float32. NaN if a vector is zero.
struct VectorDifference {
  double error = 0;   // |b - a| / |a|
  double cosine = 0;  // a'b / (|a| |b|)
};

struct PrecisionCase {
  curvature::CaseResult float32,
      autocast;  // noise, random and the epoch; samples in the same order
  VectorDifference epoch_gradient;
  std::vector<VectorDifference> gradients;  // of the batch of each noise sample
  std::vector<VectorDifference> noise;      // of each noise vector
  // v'Hv of each noise vector in float32 with the Hessian under autocast: the part of the
  // difference that remains if the directions do not change.
  std::vector<double> counterfactual;
};

struct PrecisionCaseOptions {
  int64_t hvp_batch_size = 0;                 // sequences of a curvature microbatch; 0: of training
  std::optional<int64_t> noise_samples = 32;  // nothing: all
  int64_t random_samples = 32;
  uint64_t seed = 42;
  int64_t direction_bytes = int64_t{4} << 30;  // for the directions of a group
  bool autocast = true;                        // false: float32 twice, which must not differ
};

// Measures at `weights` [1, D_padded], which do not change, by the method adjoint-weighted. A noise
// sample takes two lanes of a group, one per precision. `stop` returns the number of a signal, or 0
// to continue; returns nothing if it asked to stop. Errors: kConfig if not even two directions fit
// into direction_bytes, and for sample counts below 0; kNumeric if a loss, gradient or form is not
// finite, naming it.
std::optional<PrecisionCase> measure_precision(backend::Context& context,
                                               const config::Settings& run,
                                               const curvature::DataCase& data,
                                               const backend::Arena<float>& weights,
                                               const PrecisionCaseOptions& options,
                                               const std::function<int()>& stop, Log& log);

}  // namespace saddle::precision
