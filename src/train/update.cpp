#include "train/update.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/gemm_choices.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/ignored_target.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "optim/mixing.h"
#include "optim/schedule.h"

namespace saddle::train {
namespace {

// Valid targets of each worker.
std::vector<int64_t> count_targets(const UpdateBatch& batch, int64_t workers,
                                   int64_t context_length) {
  const int64_t size = batch.sequences * context_length;
  std::vector<int64_t> counts;
  for (int64_t n = 0; n < workers; ++n) {
    const auto begin = batch.targets.begin() + n * size;
    counts.push_back(size - std::count(begin, begin + size, kIgnoredTarget));
    if (counts.back() == 0) {
      fail(ErrorKind::kData, "an update of {} sequences has no target for worker {}",
           batch.sequences, n);
    }
  }
  return counts;
}

// Stops the run when a number of a worker is not finite. The sign of a NaN is meaningless.
void check_finite(const char* what, const std::vector<double>& values,
                  const UpdatePosition& position) {
  for (size_t n = 0; n < values.size(); ++n) {
    if (std::isfinite(values[n])) continue;
    const std::string worker = values.size() > 1 ? fmt::format(" of worker {}", n) : "";
    fail(ErrorKind::kNumeric,
         "the {}{} is {} in update {} (up to {} tokens): training stopped before the weights "
         "changed",
         what, worker, std::isnan(values[n]) ? std::abs(values[n]) : values[n], position.step,
         position.tokens);
  }
}

// The rows [first, first + count) of every worker of [N][sequences][T], one after the other.
void gather(const std::vector<int32_t>& all, int64_t workers, int64_t sequences, int64_t first,
            int64_t count, int64_t context_length, std::vector<int32_t>& part) {
  part.resize(static_cast<size_t>(workers * count * context_length));
  for (int64_t n = 0; n < workers; ++n) {
    const auto begin = all.begin() + (n * sequences + first) * context_length;
    std::copy(begin, begin + count * context_length, part.begin() + n * count * context_length);
  }
}

}  // namespace

void read_batch(data::TrainingLoader& loader, int64_t blocks, int64_t workers,
                int64_t context_length, UpdateBatch& batch) {
  if (blocks < 1 || blocks % workers != 0) {
    fail(ErrorKind::kInternal, "{} blocks cannot be divided among {} workers", blocks, workers);
  }
  batch.sequences = blocks / workers;
  batch.inputs.resize(static_cast<size_t>(blocks * context_length));
  batch.targets.resize(batch.inputs.size());
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t row = block % workers * batch.sequences + block / workers;
    loader.next(1, batch.inputs.data() + row * context_length,
                batch.targets.data() + row * context_length);
  }
}

double UpdateResult::mean_loss() const {
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

double UpdateResult::largest_loss() const {
  return *std::ranges::max_element(losses);
}

double UpdateResult::largest_grad_norm() const {
  return *std::ranges::max_element(grad_norms);
}

template <class T>
UpdateRunner<T>::UpdateRunner(backend::Context& context, const config::Settings& settings,
                              TrainedModel<T>& trained)
    : context_(context),
      optimizer_(settings.optimizer),
      decentralized_(settings.decentralized),
      context_length_(settings.model.context_length),
      micro_batch_size_(settings.training.micro_batch_size),
      trained_(trained),
      execution_(model::make_execution<T>(context, settings.model,
                                          {settings.runtime.compile, settings.runtime.amp},
                                          micro_batch_size_, trained.weights, &trained.gradients)),
      numbers_(context, trained.workers()),
      loss_weights_(context, trained.workers(), 1, 1) {
  context.reserve_scratch([&] {
    ops::sum_of_squares<T>(context, trained.gradients.all(), numbers_.norm());
    trained.optimizer.update(context, 0, 1, {numbers_.scale(), numbers_.commit()},
                             trained.gradients, trained.weights,
                             optim::mixing_of_update(decentralized_, 0, 1));
  });
}

template <class T>
void UpdateRunner<T>::set_microbatch(const UpdateBatch& batch, int64_t first, int64_t count) {
  const auto region = this->region("copy_batch");
  if (trained_.workers() == 1) {  // its rows are already contiguous
    execution_->set_batch(count, batch.inputs.data() + first * context_length_,
                          batch.targets.data() + first * context_length_);
    return;
  }
  gather(batch.inputs, trained_.workers(), batch.sequences, first, count, context_length_, inputs_);
  gather(batch.targets, trained_.workers(), batch.sequences, first, count, context_length_,
         targets_);
  execution_->set_batch(count, inputs_.data(), targets_.data());
}

template <class T>
TuningResult UpdateRunner<T>::tune_products() {
  backend::GemmChoices* const found = backend::gemm_choices(context_);
  if (found == nullptr || context_.threads() == 1) return {};
  backend::GemmChoices& choices = *found;
  const Stopwatch watch;
  UpdateBatch batch;
  batch.sequences = micro_batch_size_;
  batch.inputs.assign(static_cast<size_t>(trained_.workers() * micro_batch_size_ * context_length_),
                      0);
  batch.targets = batch.inputs;
  choices.set_tuning(true);
  accumulate_gradients(batch);
  choices.set_tuning(false);
  using backend::GemmSharing;
  return {choices.shapes(),
          choices.count(GemmSharing::kLibrary),
          choices.count(GemmSharing::kRows),
          choices.count(GemmSharing::kColumns),
          choices.count(GemmSharing::kProducts),
          watch.seconds()};
}

template <class T>
UpdateResult UpdateRunner<T>::accumulate_gradients(const UpdateBatch& batch) {
  UpdateResult result = start(batch);
  finish(result);
  return result;
}

template <class T>
UpdateResult UpdateRunner<T>::start(const UpdateBatch& batch) {
  const int64_t workers = trained_.workers();
  std::vector<double> weights;
  UpdateResult result;
  {
    const auto region = this->region("count_targets");
    const std::vector<int64_t> targets = count_targets(batch, workers, context_length_);
    for (const int64_t count : targets) weights.push_back(1.0 / static_cast<double>(count));
    result.targets = std::accumulate(targets.begin(), targets.end(), int64_t{0});
    backend::copy_from_host<double>(context_, weights.data(), 0, loss_weights_);
  }
  {
    const auto region = this->region("clear_gradients");
    ops::fill<T>(context_, 0.0, trained_.gradients.all());
    ops::fill<double>(context_, 0.0, numbers_.loss());
  }
  for (int64_t first = 0; first < batch.sequences; first += micro_batch_size_) {
    set_microbatch(batch, first, std::min(micro_batch_size_, batch.sequences - first));
    execution_->run_losses_and_gradients(loss_weights_);
    const auto region = this->region("sum_losses");
    ops::add_sum<T>(context_, execution_->losses(), numbers_.loss());
  }
  {
    const auto region = this->region("norm");
    ops::sum_of_squares<T>(context_, trained_.gradients.all(), numbers_.norm());
  }
  const auto region = this->region("clip");  // AdamW multiplies by the scales
  ops::decide_update(context_, optimizer_.grad_clip, loss_weights_, numbers_);
  return result;
}

template <class T>
void UpdateRunner<T>::finish(UpdateResult& result) {
  const auto region = this->region("read_results");
  const std::vector<double> numbers = numbers_.read(context_);
  for (size_t n = 0; n < numbers.size(); n += ops::UpdateNumbers::kCount) {
    result.losses.push_back(numbers[n]);
    result.grad_norms.push_back(numbers[n + 1]);
  }
}

template <class T>
UpdateResult UpdateRunner<T>::run(const UpdateBatch& batch, const UpdatePosition& position) {
  UpdateResult result = start(batch);
  result.lr = optim::learning_rate(optimizer_, position.tokens, position.total_tokens);
  {
    const auto region = this->region(trained_.workers() == 1 ? "adamw" : "adamw_and_mixing");
    trained_.optimizer.update(
        context_, result.lr, position.step, {numbers_.scale(), numbers_.commit()},
        trained_.gradients, trained_.weights,
        optim::mixing_of_update(decentralized_, position.step - 1, position.gamma));
  }
  finish(result);
  check_finite("loss", result.losses, position);
  check_finite("gradient norm", result.grad_norms, position);
  ++trained_.counters.updates;
  if (context_.profile() != nullptr) ++trained_.counters.profiled_updates;
  return result;
}

template class UpdateRunner<float>;
template class UpdateRunner<double>;

}  // namespace saddle::train
