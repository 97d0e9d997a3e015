// The adjoint-weighted quadratic form v'Hv of the model (docs/math/curvature.md): one forward and
// adjoint of a microbatch, whose activations and adjoints all directions share; then one forward
// sweep of tangents through the same operations, for several directions at once, in which each
// operation adds <adjoint of its output, its second derivative along the tangents>.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "model/plan.h"

namespace saddle::model {

template <class T>
class TangentSweep {
 public:
  // For microbatches of at most `sequences` sequences, with at most `lanes` directions at once.
  // `weights` [1, D_padded] must outlive it.
  TangentSweep(backend::Context& context, const config::ModelSettings& model,
               ExecutionOptions options, int64_t sequences, int64_t lanes,
               const backend::Arena<T>& weights);

  int64_t lanes() const { return lanes_; }

  // Copies a microbatch of B sequences, [B][T] each, and computes its losses, activations, and
  // adjoints for weight * sum_m loss_m.
  void run_adjoints(int64_t sequences, const int32_t* inputs, const int32_t* targets,
                    double weight);
  tensor::View<const T> losses() const { return plan_->losses(); }

  // Adds to forms [G, 1, 1] the microbatch's v'Hv along directions [first, first + G), G <=
  // lanes().
  void add_forms(const backend::Arena<T>& directions, int64_t first, tensor::View<double> forms);

 private:
  using V = tensor::View<T>;
  using C = tensor::View<const T>;

  // Tangents of a microbatch, [lanes, R, ...].
  struct Tangents {
    V stream;   // of the residual stream
    V branch;   // the input of a branch (from a norm), and its output
    V qkv;      // of the projections
    V gate_up;  // of these
  };

  // The directions of one call.
  struct Lanes {
    const backend::Arena<T>& directions;
    int64_t first = 0;
    tensor::View<double> forms;

    C view(int slot) const { return of(directions.view(slot)); }
    C rows(const SlotRun& run) const { return of(directions.rows_from(run.first, run.rows)); }
    C of(C all) const { return all.worker_range(first, forms.workers()); }
  };

  static Tangents lay_out(Buffers& buffers, const config::ModelSettings& model, int64_t lanes,
                          int64_t rows);
  void sweep_block(int64_t block, const Lanes& lanes, const Tangents& t);
  // The projection x -> y of some slots; their rows in turn are the columns of y.
  void sweep_linear(std::initializer_list<int> slots, C x, C dy, const Lanes& lanes, C x_t, V y_t);

  backend::Context& context_;
  config::ModelSettings model_;
  ExecutionOptions options_;
  Parameters parameters_;
  const backend::Arena<T>& weights_;
  int64_t lanes_;
  double weight_ = 0;                    // of the losses
  backend::Tensor<double> loss_weight_;  // the same in device memory, [1, 1, 1]
  std::unique_ptr<Plan<T>> plan_;
  backend::Memory memory_;
};

}  // namespace saddle::model
