// The model as a plan: the order of the fused operations and the place of every buffer are fixed
// when the plan is made, and running it allocates nothing.
//
// It fuses: query, key and value projections; gate and up projections; residual sums with the norms
// that follow them; attention without stored scores; the head with its loss and gradient, without
// storing all logits.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <type_traits>
#include <vector>

#include "model/batch.h"
#include "model/execution.h"
#include "model/parameters.h"
#include "model/plan_buffers.h"
#include "model/rope_cache.h"
#include "ops/attention.h"

namespace saddle::model {

// One operation with its operands.
struct Step {
  const char* name;
  std::function<void()> run;
  double operations = 0;  // of its products (model/operation_counts.h), for a profile
};

// L: the type in which operands of products are stored (ops/common.h): the number type S itself,
// which under autocast is rounded in place, or Bf16. Bf16 is for training and evaluation under
// autocast: adjoints are then stored as Bf16 too. Plans over S do not round them, so that curvature
// is the derivative of the rounded function.
template <class L>
class Plan : public Execution<num::Arithmetic<L>> {
 public:
  using S = num::Arithmetic<L>;

  // As make_execution(); options.compile is ignored.
  Plan(backend::Context& context, const config::ModelSettings& model, ExecutionOptions options,
       int64_t sequences, const backend::Arena<S>& weights, backend::Arena<S>* gradients);

  // The same without gradients of the weights, but with the adjoint of every operation's output:
  // run_adjoints() computes them and buffers() returns them.
  static std::unique_ptr<Plan> with_adjoints(backend::Context& context,
                                             const config::ModelSettings& model,
                                             ExecutionOptions options, int64_t sequences,
                                             const backend::Arena<S>& weights);

  void set_batch(int64_t sequences, const int32_t* inputs, const int32_t* targets) override;
  void rebind() override { shapes_.clear(); }
  void run_losses() override;
  void run_losses_and_gradients(tensor::View<const double> weights) override;
  tensor::View<const S> losses() const override { return steps_->buffers.losses; }

  // Computes the losses, and the adjoints for sum_m weights[n] loss_m; weights [N, 1, 1] in device
  // memory.
  void run_adjoints(tensor::View<const double> weights);

  // The buffers of the current batch, with the contents of its last run.
  const PlanBuffers<L>& buffers() const { return steps_->buffers; }
  // The weights as products see them: rounded under autocast.
  const backend::Arena<L>& product_weights() const {
    if constexpr (std::is_same_v<L, S>) {
      if (!options_.autocast) return weights_;
    }
    return rounded_weights_;
  }
  const RopeCache<num::Plane<S>>& rope() const { return rope_; }
  const DeviceBatch& batch() const { return batch_; }
  ops::AttentionShape attention_shape(int64_t sequences) const;

 private:
  using V = tensor::View<S>;
  using W = tensor::View<L>;  // an operand of products

  Plan(backend::Context& context, const config::ModelSettings& model, ExecutionOptions options,
       int64_t sequences, const backend::Arena<S>& weights, backend::Arena<S>* gradients,
       Keep keep);

  // The steps of one batch shape.
  struct Steps {
    PlanBuffers<L> buffers;
    std::vector<Step> forward;        // up to the input of the head
    std::vector<Step> loss;           // the head, losses only
    std::vector<Step> loss_gradient;  // the head with its gradient
    std::vector<Step> adjoint;        // back to the embedding
  };

  // A projection: weights and their gradients, and the columns of the output that they produce.
  // Adjacent parts of the arena are one part.
  struct Part {
    W weight;
    V gradient;
    int64_t first_column;
  };
  std::vector<Part> parts(std::initializer_list<int> slots) const;

  // The steps of a batch shape, made on first use.
  Steps& steps_for(int64_t sequences);
  Steps build(PlanBuffers<L> at);
  void add_block(Steps& steps, const BlockSlots& slots, const BlockBuffers<L>& b, W branch);
  void add_block_adjoint(Steps& steps, const BlockSlots& slots, const BlockBuffers<L>& b,
                         const BlockAdjoints<L>& d) requires num::kHasAdjoint<S>;
  void add_adjoint(Steps& steps, const PlanBuffers<L>& at,
                   const Part& head) requires num::kHasAdjoint<S>;
  void add_project(std::vector<Step>& steps, const char* name, W x, std::vector<Part> weights, W y);
  void add_project_adjoint(std::vector<Step>& steps, const char* name, W x, W dy,
                           std::vector<Part> weights, W dx) requires num::kHasAdjoint<S>;
  void add_norm_adjoint(std::vector<Step>& steps, V x, int gain, V r, W dy, V dx,
                        W dx_operand) requires num::kHasAdjoint<S>;
  void add_round(std::vector<Step>& steps, W x);
  void add_norm_again(std::vector<Step>& steps, V x, int gain, W normed, V r);
  // y = x, unless both are the same buffer.
  void add_copy(std::vector<Step>& steps, V x, V y);
  double output_head_operations(W x) const;  // of one product
  V gradient(int slot) const { return gradients_ != nullptr ? gradients_->view(slot) : V(); }
  // `group` names the steps in a profile.
  void run(const char* group, const std::vector<Step>& steps) const;
  void run_all_adjoints() const;

  backend::Context& context_;
  config::ModelSettings model_;
  ExecutionOptions options_;
  Parameters parameters_;
  RopeCache<num::Plane<S>> rope_;
  DeviceBatch batch_;
  const backend::Arena<S>& weights_;
  backend::Arena<S>* gradients_;
  Keep keep_;
  backend::Arena<L> rounded_weights_;  // under autocast
  backend::Memory memory_;
  std::map<int64_t, Steps> shapes_;  // by sequences
  Steps* steps_ = nullptr;           // of the current batch
};

}  // namespace saddle::model
