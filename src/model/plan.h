// The model as a plan made once: the order of the fused operations and the place of every buffer
// are fixed when it is made, and running it allocates nothing.
//
// Fused here: query, key and value projections; gate and up projections; residual sums with the
// norms that follow them; attention without stored scores; the head with its loss and gradient,
// without all logits. The adjoint buffers of one block serve all blocks.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "model/batch.h"
#include "model/buffers.h"
#include "model/execution.h"
#include "model/parameters.h"
#include "model/rope_cache.h"
#include "ops/attention.h"

namespace saddle::model {

// One operation with its operands.
struct Step {
  const char* name;
  std::function<void()> run;
};

template <class S>
class Plan : public Execution<S> {
 public:
  // As make_execution(); options.compile is not looked at.
  Plan(backend::Context& context, const config::ModelSettings& model, ExecutionOptions options,
       int64_t sequences, const backend::Arena<S>& weights, backend::Arena<S>* gradients);

  void set_batch(int64_t sequences, const int32_t* inputs, const int32_t* targets) override;
  void run_losses() override;
  void run_losses_and_gradients(std::span<const double> weights) override;
  tensor::View<const S> losses() const override { return steps_->losses; }

 private:
  using V = tensor::View<S>;

  // What one batch shape runs, and where its losses are.
  struct Steps {
    std::vector<Step> forward;        // up to the input of the head
    std::vector<Step> loss;           // the head, losses only
    std::vector<Step> loss_gradient;  // the head with its gradient
    std::vector<Step> adjoint;        // back to the embedding
    tensor::View<const S> losses;
  };

  // The activations of one block that its adjoint needs.
  struct BlockBuffers {
    V x, n1, r1, qkv, o;  // input; normed; inverse root mean square; projections; attention
    V middle, n2, r2, gate_up, a;  // after attention; normed; ...; projections; swiglu
  };

  // Adjoint buffers, shared by all blocks.
  struct AdjointBuffers {
    V dh, dn, dqkv, dgate_up, da;
  };

  // Every buffer of one batch shape.
  struct Activations {
    std::vector<BlockBuffers> blocks;
    V last, n, r;  // the residual stream after all blocks; normed; its inverse root mean square
    V y;           // what a block hands to the residual sum
    V losses;
    AdjointBuffers adjoint;
  };

  // A projection: weights and their gradients, and the columns of the output that they make. Parts
  // that follow each other in the arena are one.
  struct Part {
    V weight, gradient;
    int64_t first_column;
  };
  std::vector<Part> parts(std::initializer_list<int> slots) const;

  Activations lay_out(Buffers<S>& buffers, int64_t sequences) const;
  Steps build(const Activations& at);
  void add_block(Steps& steps, const BlockSlots& slots, const BlockBuffers& b, V y);
  void add_block_adjoint(Steps& steps, const BlockSlots& slots, const BlockBuffers& b,
                         const AdjointBuffers& d);
  void add_adjoint(Steps& steps, const Activations& at, const Part& head);
  void add_project(std::vector<Step>& steps, const char* name, V x, std::vector<Part> weights, V y);
  void add_project_adjoint(std::vector<Step>& steps, const char* name, V x, V dy,
                           std::vector<Part> weights, V dx);
  void add_round(std::vector<Step>& steps, V x);
  ops::AttentionShape attention_shape(int64_t sequences) const;
  V gradient(int slot) const { return gradients_ != nullptr ? gradients_->view(slot) : V(); }
  void run(const std::vector<Step>& steps) const;

  backend::Context& context_;
  config::ModelSettings model_;
  ExecutionOptions options_;
  Parameters parameters_;
  RopeCache<num::Plane<S>> rope_;
  DeviceBatch batch_;
  const backend::Arena<S>& weights_;
  backend::Arena<S>* gradients_;
  backend::Arena<S> rounded_weights_;  // under autocast
  backend::Memory memory_;
  std::map<int64_t, Steps> shapes_;  // by sequences
  Steps* steps_ = nullptr;           // of the batch that is set
  std::vector<double> loss_weights_;
};

}  // namespace saddle::model
