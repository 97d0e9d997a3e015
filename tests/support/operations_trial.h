// One call of a row of the operations table with its own memory, which tests and benchmarks fill,
// run and read.
#pragma once

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "support/operations.h"

namespace saddle::operations {

// The numbers of one plane of some tensors, [N, rows, cols] each.
using Values = std::vector<std::vector<double>>;

// Random values for the slots. They depend on the seed, the slot, the worker and the index, so that
// worker n of a run equals worker 0 of a run with first_worker = n. centered: without the means.
Values draw(const Slots& slots, int64_t workers, int64_t first_worker, uint64_t seed,
            bool centered = false);

// Tokens in [0, V) that include the first and the last piece, or targets of which every fourth
// (but neither the first nor the last) is ignored.
std::vector<int32_t> draw_indices(Indices kind, const Sizes& sizes, int64_t first_worker);

std::vector<double> draw_weights(const Sizes& sizes, int64_t first_worker);

// d_out for the adjoint of a weighted operation: the weight in every row.
Values weights_as_adjoints(const std::vector<double>& weights, int64_t rows);

// The part of worker n.
Values worker_part(const Values& values, int64_t workers, int64_t n);

// The operation in plain loops for all workers, over N = double or complex; `over_float`: what it
// computes over planes of float.
template <class N>
std::vector<std::vector<N>> plain_outputs(const Operation& operation, const Sizes& sizes,
                                          const std::vector<std::vector<N>>& in,
                                          int64_t first_worker = 0, bool over_float = false);

struct TrialOptions {
  int64_t first_worker = 0;
  bool strided = false;  // every tensor is a range of rows and columns of a larger one
  double garbage = std::numeric_limits<double>::quiet_NaN();  // initial value of written tensors
  double accumulated = 0;  // initial value of accumulated tensors, in every plane
};

template <class S>
class Trial {
 public:
  Trial(Context& context, const Operation& operation, const Sizes& sizes,
        TrialOptions options = {});

  void set_inputs(int plane, const Values& values) { set(run_.in, plane, values); }
  void set_adjoints(int plane, const Values& values) { set(run_.d_out, plane, values); }

  // forward() and adjoint() prepare what they need; the adjoint needs a forward before it.
  void forward();
  void adjoint();

  Values outputs(int plane) const { return get(run_.out, plane); }
  Values gradients(int plane) const { return get(run_.d_in, plane); }

  // True if nothing outside the rows and columns of a strided tensor was written.
  bool margins_untouched() const;

  Run<S>& run() { return run_; }
  const Operation& operation() const { return operation_; }

 private:
  static constexpr int64_t kMargin = 3;
  enum class Fill { kGarbage, kZero, kByGradient };

  std::vector<View<S>> allocate(const Slots& slots, Fill fill);
  void set(const std::vector<View<S>>& views, int plane, const Values& values) const;
  Values get(const std::vector<View<S>>& views, int plane) const;

  const Operation& operation_;
  TrialOptions options_;
  Run<S> run_;
  std::vector<backend::Tensor<S>> tensors_;
  std::vector<backend::Tensor<Plane<S>>> constants_;
  backend::Tensor<int32_t> indices_;
  backend::Tensor<double> weights_, commit_;
};

}  // namespace saddle::operations
