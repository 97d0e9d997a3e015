#include "model/plan.h"

#include <algorithm>
#include <utility>

#include "model/operation_counts.h"
#include "ops/attention.h"
#include "ops/elementwise.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/output_head.h"
#include "ops/rmsnorm.h"
#include "ops/swiglu.h"

namespace saddle::model {

using ops::Store;

template <class L>
Plan<L>::Plan(backend::Context& context, const config::ModelSettings& model,
              ExecutionOptions options, int64_t sequences, const backend::Arena<S>& weights,
              backend::Arena<S>* gradients)
    : Plan(context, model, options, sequences, weights, gradients,
           gradients == nullptr ? Keep::kNothing : Keep::kActivations) {}

template <class L>
std::unique_ptr<Plan<L>> Plan<L>::with_adjoints(backend::Context& context,
                                                const config::ModelSettings& model,
                                                ExecutionOptions options, int64_t sequences,
                                                const backend::Arena<S>& weights) {
  return std::unique_ptr<Plan>(
      new Plan(context, model, options, sequences, weights, nullptr, Keep::kAdjoints));
}

template <class L>
Plan<L>::Plan(backend::Context& context, const config::ModelSettings& model,
              ExecutionOptions options, int64_t sequences, const backend::Arena<S>& weights,
              backend::Arena<S>* gradients, Keep keep)
    : context_(context),
      model_(model),
      options_(options),
      parameters_(model),
      rope_(context, model),
      batch_(context, weights.workers(), sequences, model.context_length),
      weights_(weights),
      gradients_(gradients),
      keep_(keep) {
  if constexpr (!num::kHasAdjoint<S>) {
    if (keep != Keep::kNothing) {
      fail(ErrorKind::kInternal, "adjoints were requested for numbers that have none");
    }
  }
  if constexpr (!std::is_same_v<L, S>) {
    if (!options.autocast || keep == Keep::kAdjoints) {
      fail(ErrorKind::kInternal, "a plan with operands in bf16 is for training under autocast");
    }
  }
  if (options.autocast) {
    rounded_weights_ = backend::Arena<L>(context, parameters_.layout, weights.workers());
  }
  Buffers measure;
  lay_out<L>(measure, model, weights.workers(), sequences, keep);
  memory_ = context.allocate(measure.bytes());

  batch_.set_sequences(sequences);
  steps_ = &steps_for(sequences);
  context.reserve_scratch([&] {
    if (keep == Keep::kNothing) {
      run_losses();
    } else {
      run_all_adjoints();
    }
  });
}

template <class L>
void Plan<L>::set_batch(int64_t sequences, const int32_t* inputs, const int32_t* targets) {
  batch_.set(context_, sequences, inputs, targets);
  steps_ = &steps_for(sequences);
}

template <class L>
typename Plan<L>::Steps& Plan<L>::steps_for(int64_t sequences) {
  const auto known = shapes_.find(sequences);
  if (known != shapes_.end()) return known->second;
  // A smaller batch uses the same memory: its buffers are laid out from the start again.
  Buffers buffers(memory_);
  PlanBuffers<L> at = lay_out<L>(buffers, model_, weights_.workers(), sequences, keep_);
  return shapes_.emplace(sequences, build(std::move(at))).first->second;
}

template <class L>
void Plan<L>::run(const char* group, const std::vector<Step>& steps) const {
  for (const Step& step : steps) {
    const backend::ProfiledRegion region(context_.profile(), group, step.name, step.operations);
    step.run();
  }
}

template <class L>
void Plan<L>::run_losses() {
  run("forward", steps_->forward);
  run("loss", steps_->loss);
}

template <class L>
void Plan<L>::run_losses_and_gradients(tensor::View<const double> weights) {
  if (gradients_ == nullptr) {
    fail(ErrorKind::kInternal, "gradients were requested from an execution for losses only");
  }
  run_adjoints(weights);
}

template <class L>
void Plan<L>::run_adjoints(tensor::View<const double> weights) {
  if (keep_ == Keep::kNothing) {
    fail(ErrorKind::kInternal, "adjoints were requested from an execution for losses only");
  }
  batch_.set_loss_weights(weights);
  run_all_adjoints();
}

template <class L>
void Plan<L>::run_all_adjoints() const {
  run("forward", steps_->forward);
  run("loss", steps_->loss_gradient);
  run("adjoint", steps_->adjoint);
}

template <class L>
ops::AttentionShape Plan<L>::attention_shape(int64_t sequences) const {
  return {sequences, model_.context_length, model_.heads, model_.head_dim(),
          options_.autocast && std::is_same_v<L, S>};
}

template <class L>
double Plan<L>::output_head_operations(W x) const {
  return product_operations(x.workers(), x.rows(), x.cols(), model_.vocab_size);
}

template <class L>
std::vector<typename Plan<L>::Part> Plan<L>::parts(std::initializer_list<int> slots) const {
  const backend::Arena<L>& source = product_weights();
  std::vector<Part> result;
  for (const SlotRun& run : runs_of(parameters_.layout, slots)) {
    result.push_back({source.rows_from(run.first, run.rows),
                      gradients_ != nullptr ? gradients_->rows_from(run.first, run.rows) : V(),
                      run.first_row});
  }
  return result;
}

template <class L>
void Plan<L>::add_project(std::vector<Step>& steps, const char* name, W x,
                          std::vector<Part> weights, W y) {
  for (const Part& part : weights) {
    const W columns = y.column_range(part.first_column, part.weight.rows());
    steps.push_back(
        {name,
         [=, this, weight = part.weight] { ops::linear_forward<L>(context_, x, weight, columns); },
         product_operations(x.workers(), x.rows(), x.cols(), columns.cols())});
  }
  add_round(steps, y);
}

template <class L>
void Plan<L>::add_project_adjoint(std::vector<Step>& steps, const char* name, W x, W dy,
                                  std::vector<Part> weights, W dx) requires num::kHasAdjoint<S> {
  for (const Part& part : weights) {
    const W columns = dy.column_range(part.first_column, part.weight.rows());
    const Store store = part.first_column == 0 ? Store::kWrite : Store::kAccumulate;
    const double products = part.gradient.empty() ? 1 : 2;
    steps.push_back(
        {name,
         [=, this] {
           if (!part.gradient.empty()) {
             ops::linear_adjoint_weight<L>(context_, x, columns, part.gradient);
           }
           ops::linear_adjoint_input<L>(context_, columns, part.weight, store, dx);
         },
         products * product_operations(x.workers(), x.rows(), x.cols(), columns.cols())});
  }
}

template <class L>
void Plan<L>::add_norm_adjoint(std::vector<Step>& steps, V x, int gain, V r, W dy, V dx,
                               W dx_operand) requires num::kHasAdjoint<S> {
  const W written = std::is_same_v<L, S> ? W() : dx_operand;
  steps.push_back({"rmsnorm", [=, this, g = weights_.view(gain), dgain = gradient(gain)] {
                     ops::rmsnorm_adjoint<L>(context_, x, g, r, dy, dx, dgain, written);
                   }});
}

// What is stored as Bf16 is rounded by that.
template <class L>
void Plan<L>::add_round(std::vector<Step>& steps, [[maybe_unused]] W x) {
  if constexpr (std::is_same_v<L, S>) {
    if (!options_.autocast) return;
    steps.push_back({"round_bf16", [=, this] { ops::round_bf16<S>(context_, x, x); }});
  }
}

template <class L>
void Plan<L>::add_copy(std::vector<Step>& steps, V x, V y) {
  if (keep_ != Keep::kAdjoints) return;  // otherwise both are the buffer of the residual stream
  steps.push_back({"copy", [=, this] { ops::copy<S>(context_, x, y); }});
}

// Recomputes a normed tensor for the adjoint: the forward does not keep it.
template <class L>
void Plan<L>::add_norm_again(std::vector<Step>& steps, V x, int gain, W normed, V r) {
  if (keep_ != Keep::kActivations) return;
  steps.push_back({"rmsnorm_again", [=, this, g = weights_.view(gain)] {
                     ops::rmsnorm_forward<L>(context_, x, g, model_.norm_eps, normed, r);
                   }});
  add_round(steps, normed);
}

// From the normed input attention_input to the output of the feed-forward part, which the next norm
// adds.
template <class L>
void Plan<L>::add_block(Steps& steps, const BlockSlots& slots, const BlockBuffers<L>& b, W branch) {
  const int64_t width = model_.width;
  const W queries_keys = b.qkv.column_range(0, 2 * width);
  const W q = b.qkv.column_range(0, width);
  const W k = b.qkv.column_range(width, width);
  const W v = b.qkv.column_range(2 * width, width);
  const W gate = b.gate_up.column_range(0, model_.ffn_width);
  const W up = b.gate_up.column_range(model_.ffn_width, model_.ffn_width);
  const ops::AttentionShape shape = attention_shape(b.x.rows() / model_.context_length);

  std::vector<Step>& list = steps.forward;
  add_round(list, b.attention_input);
  add_project(list, "qkv", b.attention_input, parts({slots.q_proj, slots.k_proj, slots.v_proj}),
              b.qkv);
  list.push_back({"rope", [=, this] {
                    ops::rope_forward<L>(context_, rope_.tables(), model_.context_length,
                                         queries_keys);
                  }});
  add_round(list, queries_keys);
  list.push_back({"attention",
                  [=, this] { ops::attention_forward<L>(context_, shape, q, k, v, b.attended); },
                  2 * attention_operations(b.x.workers(), shape)});
  add_round(list, b.attended);
  add_project(list, "attention_out", b.attended, parts({slots.out_proj}), branch);
  list.push_back({"residual_rmsnorm", [=, this, gain = weights_.view(slots.ffn_norm)] {
                    ops::residual_rmsnorm_forward<L>(context_, b.x, branch, gain, model_.norm_eps,
                                                     b.middle, b.ffn_input, b.ffn_inverse_rms);
                  }});
  add_round(list, b.ffn_input);
  add_project(list, "gate_up", b.ffn_input, parts({slots.gate_proj, slots.up_proj}), b.gate_up);
  list.push_back(
      {"swiglu", [=, this] { ops::swiglu_forward<L>(context_, gate, up, b.activated); }});
  add_round(list, b.activated);
  add_project(list, "ffn_down", b.activated, parts({slots.down_proj}), branch);
}

// From d.out, the adjoint of the block's output, to d.x, that of its input.
template <class L>
void Plan<L>::add_block_adjoint(Steps& steps, const BlockSlots& slots, const BlockBuffers<L>& b,
                                const BlockAdjoints<L>& d) requires num::kHasAdjoint<S> {
  const int64_t width = model_.width;
  const int64_t ffn = model_.ffn_width;
  const W q = b.qkv.column_range(0, width);
  const W k = b.qkv.column_range(width, width);
  const W v = b.qkv.column_range(2 * width, width);
  const W dq = d.qkv.column_range(0, width);
  const W dk = d.qkv.column_range(width, width);
  const W dv = d.qkv.column_range(2 * width, width);
  const W d_queries_keys = d.qkv.column_range(0, 2 * width);
  const ops::AttentionShape shape = attention_shape(b.x.rows() / model_.context_length);

  const W gate = b.gate_up.column_range(0, ffn);
  const W up = b.gate_up.column_range(ffn, ffn);

  std::vector<Step>& list = steps.adjoint;
  if (keep_ == Keep::kActivations) {
    list.push_back(
        {"swiglu_again", [=, this] { ops::swiglu_forward<L>(context_, gate, up, b.activated); }});
    add_round(list, b.activated);
  }
  add_project_adjoint(list, "ffn_down", b.activated, d.d_down, parts({slots.down_proj}),
                      d.activated);
  list.push_back({"swiglu", [=, this] {
                    ops::swiglu_adjoint<L>(context_, gate, up, d.activated,
                                           d.gate_up.column_range(0, ffn),
                                           d.gate_up.column_range(ffn, ffn));
                  }});
  add_norm_again(list, b.middle, slots.ffn_norm, b.ffn_input, b.ffn_inverse_rms);
  add_project_adjoint(list, "gate_up", b.ffn_input, d.gate_up,
                      parts({slots.gate_proj, slots.up_proj}), d.ffn_input);
  add_copy(list, d.out, d.middle);
  add_norm_adjoint(list, b.middle, slots.ffn_norm, b.ffn_inverse_rms, d.ffn_input, d.middle,
                   d.d_attention);
  add_project_adjoint(list, "attention_out", b.attended, d.d_attention, parts({slots.out_proj}),
                      d.attended);
  list.push_back(
      {"attention",
       [=, this] { ops::attention_adjoint<L>(context_, shape, q, k, v, d.attended, dq, dk, dv); },
       4 * attention_operations(b.x.workers(), shape)});
  list.push_back({"rope", [=, this] {
                    ops::rope_adjoint<L>(context_, rope_.tables(), model_.context_length,
                                         d_queries_keys);
                  }});
  add_norm_again(list, b.x, slots.attention_norm, b.attention_input, b.attention_inverse_rms);
  add_project_adjoint(list, "qkv", b.attention_input, d.qkv,
                      parts({slots.q_proj, slots.k_proj, slots.v_proj}), d.attention_input);
  add_copy(list, d.middle, d.x);
  add_norm_adjoint(list, b.x, slots.attention_norm, b.attention_inverse_rms, d.attention_input, d.x,
                   d.d_down);
}

template <class L>
typename Plan<L>::Steps Plan<L>::build(PlanBuffers<L> at) {
  Steps steps;
  if (options_.autocast) {
    steps.forward.push_back({"round_weights", [this] {
                               if constexpr (std::is_same_v<L, S>) {
                                 ops::round_bf16<S>(context_, weights_.all(),
                                                    rounded_weights_.all());
                               } else {
                                 ops::store_as<L>(context_, weights_.all(), rounded_weights_.all());
                               }
                             }});
  }
  const V table = weights_.view(parameters_.embedding);
  const V first_gain = weights_.view(parameters_.blocks[0].attention_norm);
  steps.forward.push_back({"embedding", [=, this, x = at.blocks[0].x] {
                             ops::embedding_forward<S>(context_, batch_.inputs(), table, x);
                           }});
  steps.forward.push_back({"rmsnorm", [=, this, b = at.blocks[0]] {
                             ops::rmsnorm_forward<L>(context_, b.x, first_gain, model_.norm_eps,
                                                     b.attention_input, b.attention_inverse_rms);
                           }});
  for (int64_t i = 0; i < model_.layers; ++i) {
    add_block(steps, parameters_.blocks[i], at.blocks[i], at.branch);
    const bool is_last = i + 1 == model_.layers;
    const V x = is_last ? at.final_stream : at.blocks[i + 1].x;
    const W normed = is_last ? at.final_normed : at.blocks[i + 1].attention_input;
    const V r = is_last ? at.final_inverse_rms : at.blocks[i + 1].attention_inverse_rms;
    const V gain =
        weights_.view(is_last ? parameters_.norm : parameters_.blocks[i + 1].attention_norm);
    steps.forward.push_back(
        {"residual_rmsnorm", [=, this, middle = at.blocks[i].middle, branch = at.branch] {
           ops::residual_rmsnorm_forward<L>(context_, middle, branch, gain, model_.norm_eps, x,
                                            normed, r);
         }});
  }
  add_round(steps.forward, at.final_normed);

  const Part head = parts({parameters_.embedding})[0];
  steps.loss.push_back({"output_head",
                        [=, this, normed = at.final_normed, losses = at.losses] {
                          ops::output_head_loss<L>(context_, normed, head.weight, batch_.targets(),
                                                   losses, options_.autocast);
                        },
                        output_head_operations(at.final_normed)});
  if constexpr (num::kHasAdjoint<S>) {
    if (keep_ != Keep::kNothing) add_adjoint(steps, at, head);
  }
  steps.buffers = std::move(at);
  return steps;
}

template <class L>
void Plan<L>::add_adjoint(Steps& steps, const PlanBuffers<L>& at,
                          const Part& head) requires num::kHasAdjoint<S> {
  const double products = head.gradient.empty() ? 2 : 3;
  steps.loss_gradient.push_back(
      {"output_head",
       [=, this, normed = at.final_normed, losses = at.losses, dx = at.d_final_normed] {
         ops::output_head_loss_and_gradient<L>(context_, normed, head.weight, batch_.targets(),
                                               batch_.loss_weights(), losses, dx, head.gradient,
                                               options_.autocast);
       },
       products * output_head_operations(at.final_normed)});
  const BlockAdjoints<L>& last = at.adjoints.back();
  steps.adjoint.push_back({"clear", [=, this, dx = last.out] { ops::fill<S>(context_, 0, dx); }});
  add_norm_adjoint(steps.adjoint, at.final_stream, parameters_.norm, at.final_inverse_rms,
                   at.d_final_normed, last.out, last.d_down);
  for (int64_t i = model_.layers - 1; i >= 0; --i) {
    add_block_adjoint(steps, parameters_.blocks[i], at.blocks[i], at.adjoints[i]);
  }
  if (gradients_ == nullptr) return;
  steps.adjoint.push_back({"embedding", [=, this, dx = at.adjoints.front().x,
                                         dtable = gradient(parameters_.embedding)] {
                             ops::embedding_adjoint<S>(context_, batch_.inputs(), dx, dtable);
                           }});
}

#define SADDLE_INSTANTIATE(L) template class Plan<L>;
SADDLE_FOR_FORWARD_STORAGE(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::model
