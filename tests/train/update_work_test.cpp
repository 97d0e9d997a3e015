// What an update requests from the device: exactly what the operations of its plan request one by
// one, one late read of results, and no memory.
#include <gtest/gtest.h>

#include <vector>

#include "model/parameters.h"
#include "model/rope_cache.h"
#include "num/bf16.h"
#include "ops/attention.h"
#include "ops/elementwise.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/output_head.h"
#include "ops/reduce.h"
#include "ops/rmsnorm.h"
#include "ops/rope.h"
#include "ops/swiglu.h"
#include "optim/mixing.h"
#include "train/updater.h"

namespace saddle::train {
namespace {

using backend::DeviceCounters;
using backend::Tensor;
using L = num::Bf16;

// Of the 20m preset: the layers, and microbatches of an update. Everything else is small.
config::Settings work_settings() {
  config::Settings settings = update_settings(4, true);
  settings.model = {.vocab_size = 97,
                    .context_length = 16,
                    .layers = 8,
                    .width = 16,
                    .heads = 2,
                    .ffn_width = 24};
  settings.runtime.amp = true;
  return settings;
}

// The operations of a plan for training under autocast, on tensors of their own.
class Operations {
 public:
  Operations(backend::Context& context, const config::Settings& settings)
      : context_(context),
        model_(settings.model),
        rows_(settings.training.micro_batch_size * model_.context_length),
        rope_(context, model_),
        stream_(context, 1, rows_, model_.width),
        column_(context, 1, rows_, 1),
        gain_(context, 1, 1, model_.width),
        narrow_(context, 1, rows_, model_.width),
        narrow_again_(context, 1, rows_, model_.width),
        triple_(context, 1, rows_, 3 * model_.width),
        triple_again_(context, 1, rows_, 3 * model_.width),
        gate_up_(context, 1, rows_, 2 * model_.ffn_width),
        gate_up_again_(context, 1, rows_, 2 * model_.ffn_width),
        ffn_(context, 1, rows_, model_.ffn_width),
        table_(context, 1, model_.vocab_size, model_.width),
        table_operand_(context, 1, model_.vocab_size, model_.width),
        tokens_(context, 1, rows_, 1),
        loss_weights_(context, 1, 1, 1) {}

  // What a microbatch requests.
  DeviceCounters microbatch(const backend::Arena<float>& weights) {
    const DeviceCounters before = context_.counters();
    const backend::Arena<L> operands(context_, weights.layout(), 1);
    ops::store_as<L>(context_, weights.all(), operands.all());
    ops::embedding_forward<float>(context_, tokens_, table_, stream_);
    norm();
    for (int64_t layer = 0; layer < model_.layers; ++layer) block();
    ops::output_head_loss_and_gradient<L>(context_, narrow_, table_operand_, tokens_, loss_weights_,
                                          column_, narrow_again_, table_);
    ops::fill<float>(context_, 0, stream_);
    norm_adjoint();
    for (int64_t layer = 0; layer < model_.layers; ++layer) block_adjoint();
    ops::embedding_adjoint<float>(context_, tokens_, stream_, table_);
    return context_.counters() - before;
  }

 private:
  void norm() { ops::rmsnorm_forward<L>(context_, stream_, gain_, 1e-5, narrow_, column_); }
  void norm_adjoint() {
    ops::rmsnorm_adjoint<L>(context_, stream_, gain_, column_, narrow_, stream_, gain_,
                            narrow_again_);
  }
  void add_and_norm() {
    ops::residual_rmsnorm_forward<L>(context_, stream_, narrow_, gain_, 1e-5, stream_,
                                     narrow_again_, column_);
  }
  void project(const Tensor<L>& x, const Tensor<L>& y) {
    const Tensor<L> weight(context_, 1, y.view().cols(), x.view().cols());
    ops::linear_forward<L>(context_, x, weight, y);
  }
  void project_adjoint(const Tensor<L>& x, const Tensor<L>& dy, const Tensor<L>& dx) {
    const Tensor<L> weight(context_, 1, dy.view().cols(), x.view().cols());
    const Tensor<float> dweight(context_, 1, dy.view().cols(), x.view().cols());
    ops::linear_adjoint_weight<L>(context_, x, dy, dweight);
    ops::linear_adjoint_input<L>(context_, dy, weight, ops::Store::kWrite, dx);
  }
  tensor::View<L> third(const Tensor<L>& triple, int64_t i) const {
    return triple.view().column_range(i * model_.width, model_.width);
  }
  tensor::View<L> half(const Tensor<L>& both, int64_t i) const {
    return both.view().column_range(i * model_.ffn_width, model_.ffn_width);
  }
  ops::AttentionShape shape() const {
    return {rows_ / model_.context_length, model_.context_length, model_.heads, model_.head_dim()};
  }

  void block() {
    project(narrow_, triple_);
    ops::rope_forward<L>(context_, rope_.tables(), model_.context_length,
                         triple_.view().column_range(0, 2 * model_.width));
    ops::attention_forward<L>(context_, shape(), third(triple_, 0), third(triple_, 1),
                              third(triple_, 2), narrow_);
    project(narrow_, narrow_again_);
    add_and_norm();
    project(narrow_, gate_up_);
    ops::swiglu_forward<L>(context_, half(gate_up_, 0), half(gate_up_, 1), ffn_);
    project(ffn_, narrow_);
    add_and_norm();
  }

  void block_adjoint() {
    ops::swiglu_forward<L>(context_, half(gate_up_, 0), half(gate_up_, 1), ffn_);
    project_adjoint(ffn_, narrow_, ffn_);
    ops::swiglu_adjoint<L>(context_, half(gate_up_, 0), half(gate_up_, 1), ffn_,
                           half(gate_up_again_, 0), half(gate_up_again_, 1));
    norm();
    project_adjoint(narrow_, gate_up_, narrow_again_);
    norm_adjoint();
    project_adjoint(narrow_, narrow_again_, narrow_);
    ops::attention_adjoint<L>(context_, shape(), third(triple_, 0), third(triple_, 1),
                              third(triple_, 2), narrow_, third(triple_again_, 0),
                              third(triple_again_, 1), third(triple_again_, 2));
    ops::rope_adjoint<L>(context_, rope_.tables(), model_.context_length,
                         triple_again_.view().column_range(0, 2 * model_.width));
    norm();
    project_adjoint(narrow_, triple_, narrow_again_);
    norm_adjoint();
  }

  backend::Context& context_;
  config::ModelSettings model_;
  int64_t rows_;
  model::RopeCache<float> rope_;
  Tensor<float> stream_, column_, gain_;
  Tensor<L> narrow_, narrow_again_, triple_, triple_again_, gate_up_, gate_up_again_, ffn_;
  Tensor<float> table_;
  Tensor<L> table_operand_;
  Tensor<int32_t> tokens_;
  Tensor<double> loss_weights_;
};

// What the update requests around its microbatches.
DeviceCounters around_microbatches(Updater<float>& updater, const config::Settings& settings,
                                   int64_t microbatches) {
  backend::Context& context = updater.context;
  TrainedModel<float>& trained = updater.trained;
  ops::UpdateNumbers numbers(context, 1);
  const Tensor<double> loss_weights(context, 1, 1, 1);
  const Tensor<float> losses(context, 1,
                             settings.training.micro_batch_size * settings.model.context_length, 1);
  const DeviceCounters before = context.counters();
  ops::fill<float>(context, 0, trained.gradients.all());
  ops::fill<double>(context, 0, numbers.loss());
  for (int64_t i = 0; i < microbatches; ++i) {
    ops::add_sum<float>(context, losses, numbers.loss());
  }
  ops::sum_of_squares<float>(context, trained.gradients.all(), numbers.norm());
  ops::decide_update(context, 1, loss_weights, numbers);
  trained.optimizer.update(context, 0, 3, {numbers.scale(), numbers.commit()}, trained.gradients,
                           trained.weights, optim::mixing_of_update(settings.decentralized, 2, 1));
  return context.counters() - before;
}

TEST(UpdateRunner, RequestsWhatItsOperationsRequest) {
  const config::Settings settings = work_settings();
  for (const int64_t microbatches : {1, 3}) {
    Updater<float> updater(settings, 1);
    const UpdateBatch batch =
        random_batch(1, microbatches * settings.training.micro_batch_size, settings.model);
    updater.runner->run(batch, {1, 500, 1000});
    const int64_t allocations = updater.context.memory().allocations;
    const DeviceCounters before = updater.context.counters();
    updater.runner->run(batch, {2, 1000, 1000});
    const DeviceCounters found = updater.context.counters() - before;
    EXPECT_EQ(updater.context.memory().allocations, allocations);
    EXPECT_EQ(found.host_reads, 1);

    DeviceCounters expected = around_microbatches(updater, settings, microbatches);
    for (int64_t i = 0; i < microbatches; ++i) {
      expected += Operations(updater.context, settings).microbatch(updater.trained.weights);
    }
    EXPECT_EQ(found.launches, expected.launches);
    EXPECT_EQ(found.products, expected.products);
    EXPECT_EQ(found.kernel_bytes, expected.kernel_bytes);
    // On a GPU every request takes microseconds; docs/performance.md compares them with the aims.
    if (!tests_the_processor() && microbatches == 1) {
      EXPECT_LE(found.launches + found.products, 320);
    }
  }
}

// Three workers that mix over a ring, with and without autocast.
TEST(UpdateRunner, GivesTheSameBitsInEveryOrder) {
  for (const bool amp : {false, true}) {
    config::Settings settings = update_settings(2, true);
    settings.runtime.amp = amp;
    settings.decentralized.num_models = 3;
    settings.decentralized.topology = config::Topology::kOnePeerRing;
    const auto weights_after_updates = [&] {
      Updater<float> updater(settings, 3);
      for (int64_t step = 1; step <= 3; ++step) {
        const UpdateBatch batch = random_batch(3, 3, settings.model, static_cast<uint64_t>(step));
        updater.runner->run(batch, {step, step * 100, 1000});
      }
      return backend::to_host<float>(updater.context,
                                     tensor::View<const float>(updater.trained.weights.all()));
    };
    const std::vector<float> expected = weights_after_updates();
    in_every_order([&] { EXPECT_EQ(weights_after_updates(), expected) << "amp " << amp; });
  }
}

}  // namespace
}  // namespace saddle::train
