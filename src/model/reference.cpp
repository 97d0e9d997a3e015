#include "model/reference.h"

#include <type_traits>

#include "model/operation_counts.h"
#include "ops/attention_steps.h"
#include "ops/cross_entropy.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/rmsnorm.h"
#include "ops/swiglu.h"

namespace saddle::model {
namespace {

using ops::AttentionShape;
using ops::Store;

template <class S>
Variable<S> embedding(Tape<S>& tape, View<const int32_t> tokens, const Variable<S>& table) {
  const auto region = tape.region("embedding");
  const auto y = tape.make(table->value.workers(), tokens.rows(), table->value.cols());
  ops::embedding_forward<S>(tape.context(), tokens, table->value, y->value);
  tape.on_adjoint("embedding", 0, [=, &tape] {
    ops::embedding_adjoint<S>(tape.context(), tokens, tape.adjoint(y), tape.adjoint(table));
  });
  return y;
}

template <class S>
Variable<S> rmsnorm(Tape<S>& tape, const Variable<S>& x, const Variable<S>& gain, double eps) {
  const auto region = tape.region("rmsnorm");
  const auto y = tape.make_like(x);
  const auto r = tape.make(x->value.workers(), x->value.rows(), 1);
  ops::rmsnorm_forward<S>(tape.context(), x->value, gain->value, eps, y->value, r->value);
  tape.on_adjoint("rmsnorm", 0, [=, &tape] {
    ops::rmsnorm_adjoint<S>(tape.context(), x->value, gain->value, r->value, tape.adjoint(y),
                            tape.adjoint(x), tape.adjoint(gain));
  });
  return y;
}

template <class S>
Variable<S> linear(Tape<S>& tape, const Variable<S>& x, const Variable<S>& weight) {
  const double operations = product_operations(x->value.workers(), x->value.rows(), x->value.cols(),
                                               weight->value.rows());
  const auto region = tape.region("linear", operations);
  const auto y = tape.make(x->value.workers(), x->value.rows(), weight->value.rows());
  ops::linear_forward<S>(tape.context(), x->value, weight->value, y->value);
  tape.on_adjoint("linear", 2 * operations, [=, &tape] {
    ops::linear_adjoint_input<S>(tape.context(), tape.adjoint(y), weight->value, Store::kAccumulate,
                                 tape.adjoint(x));
    ops::linear_adjoint_weight<S>(tape.context(), x->value, tape.adjoint(y), tape.adjoint(weight));
  });
  return y;
}

template <class S>
Variable<S> add(Tape<S>& tape, const Variable<S>& x, const Variable<S>& y) {
  const auto region = tape.region("add");
  const auto z = tape.make_like(x);
  ops::add_forward<S>(tape.context(), x->value, y->value, z->value);
  tape.on_adjoint("add", 0, [=, &tape] {
    ops::accumulate<S>(tape.context(), tape.adjoint(z), tape.adjoint(x));
    ops::accumulate<S>(tape.context(), tape.adjoint(z), tape.adjoint(y));
  });
  return z;
}

// What is rounded to bf16 under autocast. Adjoints only over float, where training needs them:
// curvature is the derivative of the rounded function.
enum class Round { kValue, kAdjoint, kBoth };

template <class S>
Variable<S> round(Tape<S>& tape, bool autocast, const Variable<S>& x, Round what = Round::kBoth) {
  if (!autocast) return x;
  const auto region = tape.region("round_bf16");
  const auto y = tape.make_like(x);
  if (what == Round::kAdjoint) {
    ops::copy<S>(tape.context(), x->value, y->value);
  } else {
    ops::round_bf16<S>(tape.context(), x->value, y->value);
  }
  const bool rounds_adjoint = what != Round::kValue && std::is_same_v<S, float>;
  tape.on_adjoint("round_bf16", 0, [=, &tape] {
    const View<S> dy = tape.adjoint(y);
    if (rounds_adjoint) ops::round_bf16<S>(tape.context(), dy, dy);
    ops::accumulate<S>(tape.context(), dy, tape.adjoint(x));
  });
  return y;
}

template <class S>
Variable<S> rope(Tape<S>& tape, const Variable<S>& x, ops::RopeTables<num::Plane<S>> tables,
                 int64_t positions) {
  const auto region = tape.region("rope");
  const auto y = tape.make_like(x);
  ops::copy<S>(tape.context(), x->value, y->value);
  ops::rope_forward<S>(tape.context(), tables, positions, y->value);
  tape.on_adjoint("rope", 0, [=, &tape] {
    const Tensor<S> dx = tape.temporary(x);
    ops::copy<S>(tape.context(), tape.adjoint(y), dx);
    ops::rope_adjoint<S>(tape.context(), tables, positions, dx);
    ops::accumulate<S>(tape.context(), dx, tape.adjoint(x));
  });
  return y;
}

template <class S>
Variable<S> attention_scores(Tape<S>& tape, AttentionShape shape, const Variable<S>& q,
                             const Variable<S>& k) {
  Context& context = tape.context();
  const double operations = attention_operations(q->value.workers(), shape);
  const auto region = tape.region("attention_scores", operations);
  const int64_t rows = shape.sequences * shape.heads * shape.positions;
  const auto s = tape.make(q->value.workers(), rows, shape.positions);
  ops::attention_scores_forward<S>(context, shape, q->value, k->value, s->value);
  tape.on_adjoint("attention_scores", 2 * operations, [=, &tape, &context] {
    const Tensor<S> dq = tape.temporary(q);
    const Tensor<S> dk = tape.temporary(k);
    ops::attention_scores_adjoint<S>(context, shape, q->value, k->value, tape.adjoint(s), dq, dk);
    ops::accumulate<S>(context, dq, tape.adjoint(q));
    ops::accumulate<S>(context, dk, tape.adjoint(k));
  });
  return s;
}

template <class S>
Variable<S> causal_softmax(Tape<S>& tape, AttentionShape shape, const Variable<S>& s) {
  const auto region = tape.region("causal_softmax");
  // The adjoint of the softmax needs the probabilities before rounding.
  AttentionShape exact = shape;
  exact.round_probabilities = false;
  const auto p = tape.make_like(s);
  ops::causal_softmax_forward<S>(tape.context(), exact, s->value, p->value);
  tape.on_adjoint("causal_softmax", 0, [=, &tape] {
    ops::causal_softmax_adjoint<S>(tape.context(), shape, p->value, tape.adjoint(p),
                                   tape.adjoint(s));
  });
  return p;
}

template <class S>
Variable<S> attention_values(Tape<S>& tape, AttentionShape shape, const Variable<S>& p,
                             const Variable<S>& v) {
  Context& context = tape.context();
  const double operations = attention_operations(v->value.workers(), shape);
  const auto region = tape.region("attention_values", operations);
  const auto o = tape.make_like(v);
  ops::attention_values_forward<S>(context, shape, p->value, v->value, o->value);
  tape.on_adjoint("attention_values", 2 * operations, [=, &tape, &context] {
    const Tensor<S> dp = tape.temporary(p);
    const Tensor<S> dv = tape.temporary(v);
    ops::attention_values_adjoint<S>(context, shape, p->value, v->value, tape.adjoint(o), dp, dv);
    ops::accumulate<S>(context, dp, tape.adjoint(p));
    ops::accumulate<S>(context, dv, tape.adjoint(v));
  });
  return o;
}

template <class S>
Variable<S> attention(Tape<S>& tape, AttentionShape shape, const Variable<S>& q,
                      const Variable<S>& k, const Variable<S>& v) {
  const bool rounds = shape.round_probabilities;
  const auto s = round(tape, rounds, attention_scores(tape, shape, q, k), Round::kAdjoint);
  const auto p = causal_softmax(tape, shape, s);
  return attention_values(tape, shape, round(tape, rounds, p, Round::kValue), v);
}

template <class S>
Variable<S> swiglu(Tape<S>& tape, const Variable<S>& gate, const Variable<S>& up) {
  const auto region = tape.region("swiglu");
  const auto a = tape.make_like(gate);
  ops::swiglu_forward<S>(tape.context(), gate->value, up->value, a->value);
  tape.on_adjoint("swiglu", 0, [=, &tape] {
    const Tensor<S> dgate = tape.temporary(gate);
    const Tensor<S> dup = tape.temporary(up);
    ops::swiglu_adjoint<S>(tape.context(), gate->value, up->value, tape.adjoint(a), dgate, dup);
    ops::accumulate<S>(tape.context(), dgate, tape.adjoint(gate));
    ops::accumulate<S>(tape.context(), dup, tape.adjoint(up));
  });
  return a;
}

}  // namespace

template <class S>
Reference<S>::Reference(backend::Context& context, const config::ModelSettings& model,
                        ExecutionOptions options, int64_t sequences,
                        const backend::Arena<S>& weights, backend::Arena<S>* gradients)
    : context_(context),
      model_(model),
      options_(options),
      parameters_(model),
      rope_(context, model),
      batch_(context, weights.workers(), sequences, model.context_length),
      weights_(weights),
      gradients_(gradients) {}

template <class S>
void Reference<S>::set_batch(int64_t sequences, const int32_t* inputs, const int32_t* targets) {
  batch_.set(context_, sequences, inputs, targets);
}

template <class S>
void Reference<S>::run_losses() {
  Tape<S> tape(context_, false);
  forward(tape);
}

template <class S>
void Reference<S>::run_losses_and_gradients(View<const double> weights) {
  if (gradients_ == nullptr) {
    fail(ErrorKind::kInternal, "gradients were requested from an execution for losses only");
  }
  batch_.set_loss_weights(weights);
  Tape<S> tape(context_, true);
  forward(tape);
  tape.play_backwards();
}

template <class S>
void Reference<S>::release() {
  const backend::ProfiledRegion region(context_.profile(), "forward", "release");
  losses_.reset();
  logits_.reset();
}

template <class S>
void Reference<S>::forward(Tape<S>& tape) {
  release();
  const AttentionShape shape{batch_.sequences(), model_.context_length, model_.heads,
                             model_.head_dim(), options_.autocast};
  const auto parameter = [&](int slot) {
    return tape.parameter(weights_.view(slot), tape.records() ? gradients_->view(slot) : View<S>());
  };
  const auto rounded = [&](const Variable<S>& x) { return round(tape, options_.autocast, x); };
  const auto weight = [&](const Variable<S>& x) {
    return round(tape, options_.autocast, x, Round::kValue);
  };
  const auto project = [&](const Variable<S>& x, int slot) {
    return rounded(linear(tape, x, weight(parameter(slot))));
  };
  const auto turned = [&](const Variable<S>& x) {
    return rounded(rope(tape, x, rope_.tables(), model_.context_length));
  };

  const auto table = parameter(parameters_.embedding);
  auto h = embedding(tape, batch_.inputs(), table);
  for (const BlockSlots& block : parameters_.blocks) {
    const auto attention_input =
        rounded(rmsnorm(tape, h, parameter(block.attention_norm), model_.norm_eps));
    const auto q = turned(project(attention_input, block.q_proj));
    const auto k = turned(project(attention_input, block.k_proj));
    const auto v = project(attention_input, block.v_proj);
    const auto o = rounded(attention(tape, shape, q, k, v));
    h = add(tape, h, project(o, block.out_proj));
    const auto ffn_input = rounded(rmsnorm(tape, h, parameter(block.ffn_norm), model_.norm_eps));
    const auto gate = project(ffn_input, block.gate_proj);
    const auto up = project(ffn_input, block.up_proj);
    const auto a = rounded(swiglu(tape, gate, up));
    h = add(tape, h, project(a, block.down_proj));
  }
  const auto n = rounded(rmsnorm(tape, h, parameter(parameters_.norm), model_.norm_eps));
  const auto z = rounded(linear(tape, n, weight(table)));

  const auto region = tape.region("cross_entropy");
  const auto losses = tape.make(z->value.workers(), z->value.rows(), 1);
  const auto lse = tape.make_like(losses);
  ops::cross_entropy_forward<S>(context_, z->value, batch_.targets(), losses->value, lse->value);
  tape.on_adjoint("cross_entropy", 0, [=, &tape, this] {
    ops::cross_entropy_adjoint<S>(context_, z->value, batch_.targets(), lse->value,
                                  batch_.loss_weights(), tape.adjoint(z));
  });
  losses_ = losses;
  logits_ = z;
}

#define SADDLE_INSTANTIATE(S) template class Reference<S>;
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::model
