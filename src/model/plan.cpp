#include "model/plan.h"

#include <algorithm>
#include <utility>

#include "model/operation_counts.h"
#include "ops/attention.h"
#include "ops/elementwise.h"
#include "ops/embedding.h"
#include "ops/head.h"
#include "ops/linear.h"
#include "ops/rmsnorm.h"
#include "ops/swiglu.h"

namespace saddle::model {

using ops::Store;

template <class S>
Plan<S>::Plan(backend::Context& context, const config::ModelSettings& model,
              ExecutionOptions options, int64_t sequences, const backend::Arena<S>& weights,
              backend::Arena<S>* gradients)
    : Plan(context, model, options, sequences, weights, gradients,
           gradients == nullptr ? Keep::kNothing : Keep::kActivations) {}

template <class S>
std::unique_ptr<Plan<S>> Plan<S>::with_adjoints(backend::Context& context,
                                                const config::ModelSettings& model,
                                                ExecutionOptions options, int64_t sequences,
                                                const backend::Arena<S>& weights) {
  return std::unique_ptr<Plan>(
      new Plan(context, model, options, sequences, weights, nullptr, Keep::kAdjoints));
}

template <class S>
Plan<S>::Plan(backend::Context& context, const config::ModelSettings& model,
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
  if (options.autocast) {
    rounded_weights_ = backend::Arena<S>(context, parameters_.layout, weights.workers());
  }
  Buffers<S> measure;
  lay_out<S>(measure, model, weights.workers(), sequences, keep);
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

template <class S>
void Plan<S>::set_batch(int64_t sequences, const int32_t* inputs, const int32_t* targets) {
  batch_.set(context_, sequences, inputs, targets);
  steps_ = &steps_for(sequences);
}

template <class S>
typename Plan<S>::Steps& Plan<S>::steps_for(int64_t sequences) {
  const auto known = shapes_.find(sequences);
  if (known != shapes_.end()) return known->second;
  // A smaller batch uses the same memory: its buffers are laid out from the start again.
  Buffers<S> buffers(memory_);
  PlanBuffers<S> at = lay_out<S>(buffers, model_, weights_.workers(), sequences, keep_);
  return shapes_.emplace(sequences, build(std::move(at))).first->second;
}

template <class S>
void Plan<S>::run(const char* group, const std::vector<Step>& steps) const {
  for (const Step& step : steps) {
    const backend::ProfiledRegion region(context_.profile(), group, step.name, step.operations);
    step.run();
  }
}

template <class S>
void Plan<S>::run_losses() {
  run("forward", steps_->forward);
  run("loss", steps_->loss);
}

template <class S>
void Plan<S>::run_losses_and_gradients(std::span<const double> weights) {
  if (gradients_ == nullptr) {
    fail(ErrorKind::kInternal, "gradients were requested from an execution for losses only");
  }
  run_adjoints(weights);
}

template <class S>
void Plan<S>::run_adjoints(std::span<const double> weights) {
  if (keep_ == Keep::kNothing) {
    fail(ErrorKind::kInternal, "adjoints were requested from an execution for losses only");
  }
  batch_.set_loss_weights(context_, weights);
  run_all_adjoints();
}

template <class S>
void Plan<S>::run_all_adjoints() const {
  run("forward", steps_->forward);
  run("loss", steps_->loss_gradient);
  run("adjoint", steps_->adjoint);
}

template <class S>
ops::AttentionShape Plan<S>::attention_shape(int64_t sequences) const {
  return {sequences, model_.context_length, model_.heads, model_.head_dim(), options_.autocast};
}

template <class S>
double Plan<S>::head_operations(V x) const {
  return product_operations(x.workers(), x.rows(), x.cols(), model_.vocab_size);
}

template <class S>
std::vector<typename Plan<S>::Part> Plan<S>::parts(std::initializer_list<int> slots) const {
  const backend::Arena<S>& source = product_weights();
  std::vector<Part> result;
  for (const SlotRun& run : runs_of(parameters_.layout, slots)) {
    result.push_back({source.rows_from(run.first, run.rows),
                      gradients_ != nullptr ? gradients_->rows_from(run.first, run.rows) : V(),
                      run.first_row});
  }
  return result;
}

template <class S>
void Plan<S>::add_project(std::vector<Step>& steps, const char* name, V x,
                          std::vector<Part> weights, V y) {
  for (const Part& part : weights) {
    const V columns = y.column_range(part.first_column, part.weight.rows());
    steps.push_back(
        {name,
         [=, this, weight = part.weight] { ops::linear_forward<S>(context_, x, weight, columns); },
         product_operations(x.workers(), x.rows(), x.cols(), columns.cols())});
  }
}

template <class S>
void Plan<S>::add_project_adjoint(std::vector<Step>& steps, const char* name, V x, V dy,
                                  std::vector<Part> weights, V dx) requires num::kHasAdjoint<S> {
  for (const Part& part : weights) {
    const V columns = dy.column_range(part.first_column, part.weight.rows());
    const Store store = part.first_column == 0 ? Store::kWrite : Store::kAccumulate;
    const double products = part.gradient.empty() ? 1 : 2;
    steps.push_back(
        {name,
         [=, this] {
           if (!part.gradient.empty()) {
             ops::linear_adjoint_weight<S>(context_, x, columns, part.gradient);
           }
           ops::linear_adjoint_input<S>(context_, columns, part.weight, store, dx);
         },
         products * product_operations(x.workers(), x.rows(), x.cols(), columns.cols())});
  }
}

template <class S>
void Plan<S>::add_round(std::vector<Step>& steps, V x) {
  if (!options_.autocast) return;
  steps.push_back({"round_bf16", [=, this] { ops::round_bf16<S>(context_, x, x); }});
}

template <class S>
void Plan<S>::add_copy(std::vector<Step>& steps, V x, V y) {
  if (keep_ != Keep::kAdjoints) return;  // otherwise both are the buffer of the residual stream
  steps.push_back({"copy", [=, this] { ops::copy<S>(context_, x, y); }});
}

// Recomputes n for the adjoint: the forward does not keep it.
template <class S>
void Plan<S>::add_norm_again(std::vector<Step>& steps, V x, int gain, V n, V r) {
  if (keep_ != Keep::kActivations) return;
  steps.push_back({"rmsnorm_again", [=, this, g = weights_.view(gain)] {
                     ops::rmsnorm_forward<S>(context_, x, g, model_.norm_eps, n, r);
                   }});
  add_round(steps, n);
}

// From the normed input n1 to y, the output of the feed-forward part, which the next norm adds.
template <class S>
void Plan<S>::add_block(Steps& steps, const BlockSlots& slots, const BlockBuffers<S>& b, V y) {
  const int64_t width = model_.width;
  const V queries_keys = b.qkv.column_range(0, 2 * width);
  const V q = b.qkv.column_range(0, width);
  const V k = b.qkv.column_range(width, width);
  const V v = b.qkv.column_range(2 * width, width);
  const V gate = b.gate_up.column_range(0, model_.ffn_width);
  const V up = b.gate_up.column_range(model_.ffn_width, model_.ffn_width);
  const ops::AttentionShape shape = attention_shape(b.x.rows() / model_.context_length);

  std::vector<Step>& list = steps.forward;
  add_round(list, b.n1);
  add_project(list, "qkv", b.n1, parts({slots.q_proj, slots.k_proj, slots.v_proj}), b.qkv);
  list.push_back({"rope", [=, this] {
                    ops::rope_forward<S>(context_, rope_.tables(), model_.context_length,
                                         queries_keys);
                  }});
  add_round(list, b.qkv);
  list.push_back({"attention",
                  [=, this] { ops::attention_forward<S>(context_, shape, q, k, v, b.o); },
                  2 * attention_operations(b.x.workers(), shape)});
  add_round(list, b.o);
  add_project(list, "attention_out", b.o, parts({slots.out_proj}), y);
  list.push_back({"residual_rmsnorm", [=, this, gain = weights_.view(slots.ffn_norm)] {
                    ops::residual_rmsnorm_forward<S>(context_, b.x, y, gain, model_.norm_eps,
                                                     b.middle, b.n2, b.r2);
                  }});
  add_round(list, b.n2);
  add_project(list, "gate_up", b.n2, parts({slots.gate_proj, slots.up_proj}), b.gate_up);
  list.push_back({"swiglu", [=, this] { ops::swiglu_forward<S>(context_, gate, up, b.a); }});
  add_round(list, b.a);
  add_project(list, "ffn_down", b.a, parts({slots.down_proj}), y);
}

// From d.out, the adjoint of the block's output, to d.x, that of its input.
template <class S>
void Plan<S>::add_block_adjoint(Steps& steps, const BlockSlots& slots, const BlockBuffers<S>& b,
                                const BlockAdjoints<S>& d) requires num::kHasAdjoint<S> {
  const int64_t width = model_.width;
  const int64_t ffn = model_.ffn_width;
  const V q = b.qkv.column_range(0, width);
  const V k = b.qkv.column_range(width, width);
  const V v = b.qkv.column_range(2 * width, width);
  const V dq = d.qkv.column_range(0, width);
  const V dk = d.qkv.column_range(width, width);
  const V dv = d.qkv.column_range(2 * width, width);
  const V d_queries_keys = d.qkv.column_range(0, 2 * width);
  const ops::AttentionShape shape = attention_shape(b.x.rows() / model_.context_length);

  const V gate = b.gate_up.column_range(0, ffn);
  const V up = b.gate_up.column_range(ffn, ffn);

  std::vector<Step>& list = steps.adjoint;
  if (keep_ == Keep::kActivations) {
    list.push_back(
        {"swiglu_again", [=, this] { ops::swiglu_forward<S>(context_, gate, up, b.a); }});
    add_round(list, b.a);
  }
  add_project_adjoint(list, "ffn_down", b.a, d.out, parts({slots.down_proj}), d.a);
  list.push_back({"swiglu", [=, this] {
                    ops::swiglu_adjoint<S>(context_, gate, up, d.a, d.gate_up.column_range(0, ffn),
                                           d.gate_up.column_range(ffn, ffn));
                  }});
  add_norm_again(list, b.middle, slots.ffn_norm, b.n2, b.r2);
  add_project_adjoint(list, "gate_up", b.n2, d.gate_up, parts({slots.gate_proj, slots.up_proj}),
                      d.n2);
  add_copy(list, d.out, d.middle);
  list.push_back({"rmsnorm", [=, this, gain = weights_.view(slots.ffn_norm),
                              dgain = gradient(slots.ffn_norm)] {
                    ops::rmsnorm_adjoint<S>(context_, b.middle, gain, b.r2, d.n2, d.middle, dgain);
                  }});
  add_project_adjoint(list, "attention_out", b.o, d.middle, parts({slots.out_proj}), d.o);
  list.push_back(
      {"attention",
       [=, this] { ops::attention_adjoint<S>(context_, shape, q, k, v, d.o, dq, dk, dv); },
       4 * attention_operations(b.x.workers(), shape)});
  list.push_back({"rope", [=, this] {
                    ops::rope_adjoint<S>(context_, rope_.tables(), model_.context_length,
                                         d_queries_keys);
                  }});
  add_norm_again(list, b.x, slots.attention_norm, b.n1, b.r1);
  add_project_adjoint(list, "qkv", b.n1, d.qkv, parts({slots.q_proj, slots.k_proj, slots.v_proj}),
                      d.n1);
  add_copy(list, d.middle, d.x);
  list.push_back({"rmsnorm", [=, this, gain = weights_.view(slots.attention_norm),
                              dgain = gradient(slots.attention_norm)] {
                    ops::rmsnorm_adjoint<S>(context_, b.x, gain, b.r1, d.n1, d.x, dgain);
                  }});
}

template <class S>
typename Plan<S>::Steps Plan<S>::build(PlanBuffers<S> at) {
  Steps steps;
  if (options_.autocast) {
    steps.forward.push_back({"round_weights", [this] {
                               ops::round_bf16<S>(context_, weights_.all(), rounded_weights_.all());
                             }});
  }
  const V table = weights_.view(parameters_.embedding);
  const V first_gain = weights_.view(parameters_.blocks[0].attention_norm);
  steps.forward.push_back({"embedding", [=, this, x = at.blocks[0].x] {
                             ops::embedding_forward<S>(context_, batch_.inputs(), table, x);
                           }});
  steps.forward.push_back({"rmsnorm", [=, this, b = at.blocks[0]] {
                             ops::rmsnorm_forward<S>(context_, b.x, first_gain, model_.norm_eps,
                                                     b.n1, b.r1);
                           }});
  for (int64_t i = 0; i < model_.layers; ++i) {
    add_block(steps, parameters_.blocks[i], at.blocks[i], at.y);
    const bool is_last = i + 1 == model_.layers;
    const V x = is_last ? at.last : at.blocks[i + 1].x;
    const V normed = is_last ? at.n : at.blocks[i + 1].n1;
    const V root = is_last ? at.r : at.blocks[i + 1].r1;
    const V gain =
        weights_.view(is_last ? parameters_.norm : parameters_.blocks[i + 1].attention_norm);
    steps.forward.push_back({"residual_rmsnorm", [=, this, middle = at.blocks[i].middle, y = at.y] {
                               ops::residual_rmsnorm_forward<S>(context_, middle, y, gain,
                                                                model_.norm_eps, x, normed, root);
                             }});
  }
  add_round(steps.forward, at.n);

  const Part head = parts({parameters_.embedding})[0];
  steps.loss.push_back({"head",
                        [=, this, n = at.n, losses = at.losses] {
                          ops::head_loss<S>(context_, n, head.weight, batch_.targets(), losses);
                        },
                        head_operations(at.n)});
  if constexpr (num::kHasAdjoint<S>) {
    if (keep_ != Keep::kNothing) add_adjoint(steps, at, head);
  }
  steps.buffers = std::move(at);
  return steps;
}

template <class S>
void Plan<S>::add_adjoint(Steps& steps, const PlanBuffers<S>& at,
                          const Part& head) requires num::kHasAdjoint<S> {
  const double products = head.gradient.empty() ? 2 : 3;
  steps.loss_gradient.push_back({"head",
                                 [=, this, n = at.n, losses = at.losses, dn = at.dn] {
                                   ops::head_loss_and_gradient<S>(
                                       context_, n, head.weight, batch_.targets(),
                                       batch_.loss_weights(), losses, dn, head.gradient);
                                 },
                                 products * head_operations(at.n)});
  steps.adjoint.push_back(
      {"rmsnorm", [=, this, last = at.last, r = at.r, dn = at.dn, dlast = at.adjoints.back().out,
                   gain = weights_.view(parameters_.norm), dgain = gradient(parameters_.norm)] {
         ops::fill<S>(context_, 0, dlast);
         ops::rmsnorm_adjoint<S>(context_, last, gain, r, dn, dlast, dgain);
       }});
  for (int64_t i = model_.layers - 1; i >= 0; --i) {
    add_block_adjoint(steps, parameters_.blocks[i], at.blocks[i], at.adjoints[i]);
  }
  if (gradients_ == nullptr) return;
  steps.adjoint.push_back({"embedding", [=, this, dx = at.adjoints.front().x,
                                         dtable = gradient(parameters_.embedding)] {
                             ops::embedding_adjoint<S>(context_, batch_.inputs(), dx, dtable);
                           }});
}

#define SADDLE_INSTANTIATE(S) template class Plan<S>;
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::model
