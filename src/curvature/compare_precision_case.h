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

namespace saddle::curvature {

// Of a vector b from the same one, a, in float32. NaN where a vector is zero.
struct VectorDifference {
  double error = 0;   // |b - a| / |a|
  double cosine = 0;  // a'b / (|a| |b|)
};

struct PrecisionCase {
  CaseResult float32, autocast;  // noise, random and the epoch; samples in one order
  VectorDifference epoch_gradient;
  std::vector<VectorDifference> gradients;  // of the batch of each noise sample
  std::vector<VectorDifference> noise;      // of each noise vector
  // v'Hv of each noise vector in float32 with the Hessian under autocast: what is left of the
  // difference when directions do not change.
  std::vector<double> counterfactual;
};

struct PrecisionCaseOptions {
  int64_t hvp_batch_size = 0;                 // sequences of a curvature microbatch; 0: of training
  std::optional<int64_t> noise_samples = 32;  // nothing: all that there are
  int64_t random_samples = 32;
  uint64_t seed = 42;
  int64_t direction_bytes = int64_t{4} << 30;  // for the directions of a group
  bool autocast = true;                        // false: float32 twice, where nothing must differ
};

// Measures at `weights` [1, D_padded], which stay as they are, by the method adjoint-weighted. A
// noise sample takes two lanes of a group, one for each precision. `stop` gives the number of a
// signal, or 0 to go on; nothing is returned when it asked to stop. Errors: kConfig when not even
// two directions fit direction_bytes, and for sample counts below 0; kNumeric when a loss,
// gradient or form is not finite, with which one it is.
std::optional<PrecisionCase> measure_precision(backend::Context& context,
                                               const config::Settings& run, const DataCase& data,
                                               const backend::Arena<float>& weights,
                                               const PrecisionCaseOptions& options,
                                               const std::function<int()>& stop, Log& log);

}  // namespace saddle::curvature
