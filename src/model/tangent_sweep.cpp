#include "model/tangent_sweep.h"

#include <algorithm>

#include "ops/attention_second_order.h"
#include "ops/elementwise.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/output_head_second_order.h"
#include "ops/rmsnorm.h"
#include "ops/rope.h"
#include "ops/swiglu.h"

namespace saddle::model {

template <class T>
TangentSweep<T>::TangentSweep(backend::Context& context, const config::ModelSettings& model,
                              ExecutionOptions options, int64_t sequences, int64_t lanes,
                              const backend::Arena<T>& weights)
    : context_(context),
      model_(model),
      options_(options),
      parameters_(model),
      weights_(weights),
      lanes_(lanes),
      loss_weight_(context, 1, 1, 1),
      plan_(Plan<T>::with_adjoints(context, model, options, sequences, weights)) {
  const int64_t rows = sequences * model.context_length;
  Buffers measure;
  lay_out(measure, model, lanes, rows);
  memory_ = context.allocate(measure.bytes());
  context.reserve_scratch([&] {
    // Any directions: only their number matters.
    const backend::Arena<T> directions = weights.repeated(lanes);
    const backend::Tensor<double> forms(context, lanes, 1, 1);
    add_forms(directions, 0, forms);
  });
}

template <class T>
typename TangentSweep<T>::Tangents TangentSweep<T>::lay_out(Buffers& buffers,
                                                            const config::ModelSettings& model,
                                                            int64_t lanes, int64_t rows) {
  const auto take = [&](int64_t cols) { return buffers.template take<T>(lanes, rows, cols); };
  Tangents t;
  t.stream = take(model.width);
  t.branch = take(model.width);
  t.qkv = take(3 * model.width);
  t.gate_up = take(2 * model.ffn_width);
  return t;
}

template <class T>
void TangentSweep<T>::run_adjoints(int64_t sequences, const int32_t* inputs, const int32_t* targets,
                                   double weight) {
  plan_->set_batch(sequences, inputs, targets);
  weight_ = weight;
  ops::fill<double>(context_, weight, loss_weight_);
  plan_->run_adjoints(loss_weight_);
}

template <class T>
void TangentSweep<T>::sweep_linear(std::initializer_list<int> slots, C x, C dy, const Lanes& lanes,
                                   C x_t, V y_t) {
  for (const SlotRun& run : runs_of(parameters_.layout, slots)) {
    const C weight = plan_->product_weights().rows_from(run.first, run.rows);
    ops::linear_second_order<T>(context_, x, weight, dy.column_range(run.first_row, run.rows), x_t,
                                lanes.rows(run), y_t.column_range(run.first_row, run.rows),
                                lanes.forms);
  }
}

// From the tangents of the block's input in t.stream to those of its output.
template <class T>
void TangentSweep<T>::sweep_block(int64_t block, const Lanes& lanes, const Tangents& t) {
  const BlockSlots& slots = parameters_.blocks[block];
  const BlockBuffers<T>& b = plan_->buffers().blocks[block];
  const BlockAdjoints<T>& d = plan_->buffers().adjoints[block];
  const int64_t width = model_.width;
  const int64_t ffn = model_.ffn_width;
  const auto part = [](V x, int64_t first, int64_t count) { return x.column_range(first, count); };
  const V o_t = part(t.qkv, 0, width);    // a block of queries is read before it is written
  const V a_t = part(t.gate_up, 0, ffn);  // likewise

  ops::rmsnorm_second_order<T>(context_, b.x, weights_.view(slots.attention_norm), model_.norm_eps,
                               d.attention_input, t.stream, lanes.view(slots.attention_norm),
                               t.branch, lanes.forms);
  sweep_linear({slots.q_proj, slots.k_proj, slots.v_proj}, b.attention_input, d.qkv, lanes,
               t.branch, t.qkv);
  ops::rope_forward<T>(context_, plan_->rope().tables(), model_.context_length,
                       part(t.qkv, 0, 2 * width));
  ops::attention_second_order<T>(
      context_, plan_->attention_shape(b.x.rows() / model_.context_length), part(b.qkv, 0, width),
      part(b.qkv, width, width), part(b.qkv, 2 * width, width), d.attended, part(t.qkv, 0, width),
      part(t.qkv, width, width), part(t.qkv, 2 * width, width), o_t, lanes.forms);
  sweep_linear({slots.out_proj}, b.attended, d.middle, lanes, o_t, t.branch);
  ops::accumulate<T>(context_, t.branch, t.stream);

  ops::rmsnorm_second_order<T>(context_, b.middle, weights_.view(slots.ffn_norm), model_.norm_eps,
                               d.ffn_input, t.stream, lanes.view(slots.ffn_norm), t.branch,
                               lanes.forms);
  sweep_linear({slots.gate_proj, slots.up_proj}, b.ffn_input, d.gate_up, lanes, t.branch,
               t.gate_up);
  ops::swiglu_second_order<T>(context_, part(b.gate_up, 0, ffn), part(b.gate_up, ffn, ffn),
                              d.activated, part(t.gate_up, 0, ffn), part(t.gate_up, ffn, ffn), a_t,
                              lanes.forms);
  sweep_linear({slots.down_proj}, b.activated, d.out, lanes, a_t, t.branch);
  ops::accumulate<T>(context_, t.branch, t.stream);
}

template <class T>
void TangentSweep<T>::add_forms(const backend::Arena<T>& directions, int64_t first,
                                tensor::View<double> forms) {
  const int64_t count = forms.workers();
  if (count < 1 || count > lanes_) {
    fail(ErrorKind::kInternal, "{} directions at once, but 1 to {} were planned", count, lanes_);
  }
  const PlanBuffers<T>& at = plan_->buffers();
  const Lanes lanes{directions, first, forms};
  // A smaller batch or fewer directions use the same memory.
  Buffers buffers(memory_);
  const Tangents t = lay_out(buffers, model_, count, at.final_normed.rows());

  ops::embedding_forward<T>(context_, plan_->batch().inputs().repeat(count),
                            lanes.view(parameters_.embedding), t.stream);
  for (int64_t block = 0; block < model_.layers; ++block) sweep_block(block, lanes, t);
  ops::rmsnorm_second_order<T>(context_, at.final_stream, weights_.view(parameters_.norm),
                               model_.norm_eps, at.d_final_normed, t.stream,
                               lanes.view(parameters_.norm), t.branch, forms);
  ops::output_head_second_order<T>(context_, at.final_normed,
                                   plan_->product_weights().view(parameters_.embedding),
                                   plan_->batch().targets(), weight_, t.branch,
                                   lanes.view(parameters_.embedding), forms, options_.autocast);
}

template class TangentSweep<float>;
template class TangentSweep<double>;

}  // namespace saddle::model
