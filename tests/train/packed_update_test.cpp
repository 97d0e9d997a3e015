// Updates of several workers together.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/expect_error.h"
#include "support/golden.h"
#include "train/evaluated_model.h"
#include "train/evaluation.h"
#include "train/updater.h"

namespace saddle::train {
namespace {

using config::Scheme;
using config::Topology;

const std::vector<Topology> kTopologies = {Topology::kComplete, Topology::kOnePeerRing,
                                           Topology::kOnePeerExponential};
const std::vector<Scheme> kSchemes = {Scheme::kAdaptWhileCombine, Scheme::kAdaptThenCombine};

config::Settings packed_settings(int64_t workers, Topology topology, Scheme scheme,
                                 bool compile = true) {
  config::Settings settings = update_settings(2, compile);
  settings.decentralized.num_models = workers;
  settings.decentralized.topology = topology;
  settings.decentralized.scheme = scheme;
  return settings;
}

// The weight of worker j in the mix of worker i at an update, by the definition of the topology.
double share(Topology topology, int64_t workers, int64_t update, double gamma, int64_t i,
             int64_t j) {
  double weight = 0;
  if (topology == Topology::kComplete) {
    weight = 1.0 / static_cast<double>(workers);
  } else {
    int64_t peer = 0;
    if (topology == Topology::kOnePeerRing) {
      peer = update % 2 == 0 ? i - 1 : i + 1;
    } else {
      std::vector<int64_t> offsets;
      for (int64_t offset = 1; offset < workers; offset *= 2) offsets.push_back(offset);
      peer = i + offsets[static_cast<size_t>(update) % offsets.size()];
    }
    weight = (i == j ? 0.5 : 0.0) + ((peer + workers) % workers == j ? 0.5 : 0.0);
  }
  return gamma * weight + (i == j ? 1 - gamma : 0.0);
}

// N ordinary models, run one after another, whose weights are mixed in plain loops.
template <class T>
class OrdinaryModels {
 public:
  OrdinaryModels(const config::Settings& settings, int64_t workers) : settings_(settings) {
    settings_.decentralized = {};
    for (int64_t n = 0; n < workers; ++n) {
      models_.push_back(std::make_unique<Updater<T>>(settings_, 1));
    }
  }

  void update(const config::DecentralizedSettings& decentralized, const UpdateBatch& batch,
              const UpdatePosition& position, double lr) {
    const bool before = decentralized.scheme == Scheme::kAdaptWhileCombine;
    std::vector<double> scales;
    for (size_t n = 0; n < models_.size(); ++n) {
      const UpdateResult result = models_[n]->runner->accumulate_gradients(
          batch_of(batch, static_cast<int64_t>(n), settings_.model.context_length));
      scales.push_back(std::min(1.0, 1.0 / (result.grad_norms[0] + 1e-6)));
    }
    if (before) mix(decentralized.topology, position);
    for (size_t n = 0; n < models_.size(); ++n) {
      TrainedModel<T>& trained = models_[n]->trained;
      backend::Context& context = models_[n]->context;
      const backend::Tensor<double> scale(context, 1, 1, 1);
      backend::copy_from_host<double>(context, &scales[n], 0, scale);
      trained.optimizer.update(context, lr, position.step, {scale, {}}, trained.gradients,
                               trained.weights);
    }
    if (!before) mix(decentralized.topology, position);
  }

  TrainedModel<T>& trained(size_t n) { return models_[n]->trained; }

 private:
  void mix(Topology topology, const UpdatePosition& position) {
    const auto workers = static_cast<int64_t>(models_.size());
    std::vector<std::vector<double>> x;
    for (const auto& model : models_) {
      x.push_back(golden::parameters_to_host(model->trained.weights));
    }
    for (int64_t i = 0; i < workers; ++i) {
      std::vector<double> mixed(x[0].size(), 0.0);
      for (int64_t j = 0; j < workers; ++j) {
        const double weight = share(topology, workers, position.step - 1, position.gamma, i, j);
        for (size_t p = 0; p < mixed.size(); ++p) {
          mixed[p] += weight * x[static_cast<size_t>(j)][p];
        }
      }
      golden::parameters_from_host(mixed, trained(static_cast<size_t>(i)).weights);
    }
  }

  config::Settings settings_;
  std::vector<std::unique_ptr<Updater<T>>> models_;
};

template <class T>
void compare_with_ordinary_models(int64_t workers, Topology topology, Scheme scheme, bool compile,
                                  double gamma, double tolerance) {
  SCOPED_TRACE(fmt::format("{} workers, {}, {}, gamma {}", workers, config::name(topology),
                           config::name(scheme), gamma));
  const config::Settings settings = packed_settings(workers, topology, scheme, compile);
  Updater<T> packed(settings, workers);
  OrdinaryModels<T> ordinary(settings, workers);
  for (int64_t step = 1; step <= 5; ++step) {
    const UpdateBatch batch =
        random_batch(workers, 2, settings.model, 10 + static_cast<uint64_t>(step));
    const UpdatePosition position{step, step * 64, 640, gamma};
    const UpdateResult result = packed.runner->run(batch, position);
    ordinary.update(settings.decentralized, batch, position, result.lr);
  }
  const auto same = [&](const backend::Arena<T>& found, const backend::Arena<T>& expected,
                        int64_t n) {
    EXPECT_LT(golden::relative_l2(golden::parameters_to_host(found, 0, n),
                                  golden::parameters_to_host(expected)),
              tolerance);
  };
  for (int64_t n = 0; n < workers; ++n) {
    TrainedModel<T>& alone = ordinary.trained(static_cast<size_t>(n));
    same(packed.trained.weights, alone.weights, n);
    same(packed.trained.optimizer.first_moments(), alone.optimizer.first_moments(), n);
    same(packed.trained.optimizer.second_moments(), alone.optimizer.second_moments(), n);
  }
}

TEST(PackedUpdates, EqualThoseOfOrdinaryModelsInDouble) {
  for (const Topology topology : kTopologies) {
    for (const Scheme scheme : kSchemes) {
      for (const int64_t workers : {2, 3, 4}) {
        compare_with_ordinary_models<double>(workers, topology, scheme, true, 1, 1e-12);
      }
      compare_with_ordinary_models<double>(5, topology, scheme, false, 0.6, 1e-12);
    }
  }
}

// Float rounds every weight and every sum to 6e-8; Adam divides small gradients by their own size,
// which amplifies some of that rounding.
TEST(PackedUpdates, EqualThoseOfOrdinaryModelsInFloat) {
  for (const Topology topology : kTopologies) {
    for (const Scheme scheme : kSchemes) {
      compare_with_ordinary_models<float>(3, topology, scheme, true, 0.75, 1e-5);
    }
  }
}

// With any topology and scheme, one worker is bit for bit an ordinary run.
TEST(PackedUpdates, WithOneWorkerAreOrdinary) {
  const auto after_updates = [](const config::Settings& settings) {
    Updater<float> updater(settings, 1);
    for (int64_t step = 1; step <= 3; ++step) {
      updater.runner->run(random_batch(1, 6, settings.model), {step, step * 64, 1000, 0.5});
    }
    return memory_of(updater.trained);
  };
  const auto expected = after_updates(update_settings(2, true));
  for (const Topology topology : kTopologies) {
    for (const Scheme scheme : kSchemes) {
      EXPECT_TRUE(same_bits(after_updates(packed_settings(1, topology, scheme)), expected));
    }
  }
}

template <class T>
void check_that_gradients_are_local(bool compile) {
  const config::Settings settings =
      packed_settings(3, Topology::kComplete, Scheme::kAdaptWhileCombine, compile);
  const UpdateBatch batch = random_batch(3, 2, settings.model);
  UpdateBatch other = batch;
  const auto size = static_cast<size_t>(2 * settings.model.context_length);
  for (size_t i = size; i < 2 * size; ++i) {  // of worker 1
    other.inputs[i] = (other.inputs[i] + 1) % 61;
    other.targets[i] = 3;
  }
  Updater<T> updater(settings, 3, kManyThreads);
  const auto gradient = [&](const UpdateBatch& rows, int64_t n) {
    updater.runner->accumulate_gradients(rows);
    return golden::parameters_to_host(updater.trained.gradients, 0, n);
  };
  EXPECT_EQ(gradient(batch, 0), gradient(other, 0));
  EXPECT_NE(gradient(batch, 1), gradient(other, 1));
  EXPECT_EQ(gradient(batch, 2), gradient(other, 2));
}

TEST(PackedUpdates, AGradientDependsOnlyOnItsOwnRows) {
  check_that_gradients_are_local<float>(true);
  check_that_gradients_are_local<float>(false);
  check_that_gradients_are_local<double>(true);
}

// A number that is not finite must not spread by mixing.
TEST(PackedUpdates, StopBeforeAnyWorkerChanges) {
  const config::Settings settings =
      packed_settings(3, Topology::kComplete, Scheme::kAdaptThenCombine);
  Updater<float> updater(settings, 3);
  const UpdateBatch batch = random_batch(3, 2, settings.model);
  updater.runner->run(batch, {1, 48, 1000});
  plant(updater.trained.weights, "norm.weight", 2, std::numeric_limits<float>::quiet_NaN());
  const auto before = memory_of(updater.trained);
  expect_error(ErrorKind::kNumeric, {"loss of worker 2 is nan", "update 2"}, [&] {
    updater.runner->run(batch, {2, 96, 1000});
  });
  EXPECT_TRUE(same_bits(before, memory_of(updater.trained)));
}

// silu(0) = 0 hides the huge weights from the loss, but silu'(0) = 1/2 times two of them overflows.
TEST(PackedUpdates, StopBeforeAnyWorkerChangesWhenOnlyAGradientIsNotFinite) {
  const config::Settings settings =
      packed_settings(3, Topology::kComplete, Scheme::kAdaptWhileCombine);
  Updater<float> updater(settings, 3);
  const UpdateBatch batch = random_batch(3, 2, settings.model);
  updater.runner->run(batch, {1, 48, 1000});
  const model::Parameters parameters(settings.model);
  const auto fill = [&](int slot, float value) {
    const auto view = updater.trained.weights.view(slot).worker_range(1, 1);
    const std::vector<float> values(view.size(), value);
    backend::copy_from_host<float>(updater.context, values.data(), 0, view);
  };
  fill(parameters.blocks[0].gate_proj, 0);
  fill(parameters.blocks[0].up_proj, 1e30F);
  fill(parameters.blocks[0].down_proj, 1e30F);
  const UpdateResult result = updater.runner->accumulate_gradients(batch);
  for (const double loss : result.losses) EXPECT_TRUE(std::isfinite(loss)) << loss;
  EXPECT_TRUE(std::isfinite(result.grad_norms[0]));
  const auto before = memory_of(updater.trained);
  expect_error(ErrorKind::kNumeric, {"gradient norm of worker 1 is", "update 2"}, [&] {
    updater.runner->run(batch, {2, 96, 1000});
  });
  EXPECT_TRUE(same_bits(before, memory_of(updater.trained)));
}

TEST(PackedUpdates, PaddingStaysZero) {
  const config::Settings settings =
      packed_settings(3, Topology::kOnePeerRing, Scheme::kAdaptWhileCombine);
  Updater<float> updater(settings, 3);
  for (int64_t step = 1; step <= 3; ++step) {
    updater.runner->run(random_batch(3, 2, settings.model), {step, step * 48, 1000});
  }
  const tensor::Layout& layout = updater.trained.weights.layout();
  std::vector<bool> is_padding(static_cast<size_t>(layout.padded_size()), true);
  for (const tensor::Slot& slot : layout.slots()) {
    EXPECT_EQ(slot.offset % tensor::Layout::kAlignment, 0);
    for (int64_t i = 0; i < slot.size(); ++i) is_padding[static_cast<size_t>(slot.offset + i)] = 0;
  }
  auto memory = memory_of(updater.trained);
  memory.push_back(backend::to_host<float>(updater.context, updater.trained.gradients.all()));
  int64_t padding = 0;
  for (const std::vector<float>& arena : memory) {
    for (size_t i = 0; i < arena.size(); ++i) {
      if (!is_padding[i % is_padding.size()]) continue;
      ++padding;
      ASSERT_EQ(arena[i], 0.0F) << i;
    }
  }
  EXPECT_EQ(padding, 4 * 3 * (layout.padded_size() - layout.size()));
  EXPECT_GT(padding, 0);
}

// The average is computed separately: an evaluation does not change the training.
TEST(EvaluatedModel, IsTheAverageAndLeavesTheTrainingAlone) {
  const config::Settings settings =
      packed_settings(3, Topology::kOnePeerRing, Scheme::kAdaptWhileCombine);
  Updater<double> updater(settings, 3);
  updater.runner->run(random_batch(3, 2, settings.model), {1, 500, 1000});
  const auto before = memory_of(updater.trained);

  EvaluatedModel<double> evaluated(updater.context, settings, updater.trained,
                                   updater.runner->execution());
  evaluated.refresh();
  data::ValidationSubset subset;
  subset.blocks = 7;
  const UpdateBatch rows = random_batch(1, 7, settings.model);
  subset.inputs = rows.inputs;
  subset.targets = rows.targets;
  const auto loss_of = [&](backend::Context& context, model::Execution<double>& execution) {
    Evaluator<double> evaluator(context, execution, {8, 5, 2});
    return evaluator.run(subset, true, [](int64_t, int64_t) { return true; })->loss;
  };
  const double loss = loss_of(updater.context, evaluated.execution());
  EXPECT_TRUE(same_bits(before, memory_of(updater.trained)));

  std::vector<double> mean = golden::parameters_to_host(updater.trained.weights, 0, 0);
  for (int64_t n = 1; n < 3; ++n) {
    const std::vector<double> x = golden::parameters_to_host(updater.trained.weights, 0, n);
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += x[i];
  }
  for (double& x : mean) x /= 3;
  EXPECT_EQ(golden::parameters_to_host(evaluated.weights()), mean);
  Updater<double> alone(settings, 1);
  golden::parameters_from_host(mean, alone.trained.weights);
  EXPECT_EQ(loss, loss_of(alone.context, alone.runner->execution()));
}

}  // namespace
}  // namespace saddle::train
