// Measures one checkpoint on one data case: the gradient of the epoch, and the quadratic form of
// every direction, in groups that fit into the memory limit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/tensor.h"
#include "base/log.h"
#include "config/settings.h"
#include "curvature/case_result.h"
#include "curvature/data_case.h"
#include "curvature/quadratic_forms.h"

namespace saddle::curvature {

struct MeasureOptions {
  FormOptions form;            // its autocast also applies to gradients
  int64_t hvp_batch_size = 0;  // sequences of a curvature microbatch; 0: of a training microbatch
  std::optional<int64_t> noise_samples = 32;  // nothing: all
  int64_t random_samples = 32;
  uint64_t seed = 42;                          // of samples and random directions
  int64_t direction_bytes = int64_t{4} << 30;  // for the directions of a group (--memory-gib)
};

// A direction provided by the caller.
template <class T>
struct NamedDirection {
  std::string name;  // for results and messages
  // Writes the direction to a lane of an arena with the layout of the weights. The lane is zero
  // before the call, and its padding must stay zero.
  std::function<void(backend::Arena<T>& directions, int64_t lane)> write;
};

template <class T>
struct OwnDirections {
  std::vector<NamedDirection<T>> own;        // results in CaseResult::own, in this order
  std::vector<NamedDirection<T>> consensus;  // in CaseResult::consensus
};

// The memory of one direction in bytes.
template <class T>
int64_t direction_lane_bytes(const config::ModelSettings& model);

// Returns `value`. Error: kNumeric, naming `what`, if it is not finite.
double finite(double value, const std::string& what);

// Measures at `weights` [1, D_padded], which do not change. For a packed run the population of
// noise samples is the local batches of all workers. A direction that is exactly zero is recorded
// as zero without a pass. `stop` returns the number of a signal, or 0 to continue; returns nothing
// if it asked to stop.
// Errors: kConfig if not even one direction fits into direction_bytes, and for sample counts below
// 0; kNumeric if a loss, gradient, direction or form is not finite, naming it.
template <class T>
std::optional<CaseResult> measure_case(backend::Context& context, const config::Settings& run,
                                       const DataCase& data, const backend::Arena<T>& weights,
                                       const MeasureOptions& options,
                                       const OwnDirections<T>& directions,
                                       const std::function<int()>& stop, Log& log);

}  // namespace saddle::curvature
