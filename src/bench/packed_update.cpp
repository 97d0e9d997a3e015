#include "bench/packed_update.h"

#include "base/narrow.h"
#include "bench/random_ids.h"
#include "model/initial_weights.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "optim/mixing.h"

namespace saddle::bench {

template <class T>
PackedUpdate<T>::PackedUpdate(backend::Context& context, const config::Settings& settings,
                              PackedMode mode)
    : context_(context),
      settings_(settings),
      mode_(mode),
      workers_(settings.decentralized.num_models),
      trained_(context, settings, workers_),
      weights_(context, workers_, 1, 1),
      numbers_(context, workers_) {
  const int64_t ids = workers_ * settings.training.micro_batch_size * settings.model.context_length;
  inputs_ = random_ids(settings, ids, 0);
  targets_ = random_ids(settings, ids, 1);
  model::set_initial_weights<T>(context, settings.model, narrow<uint64_t>(settings.runtime.seed),
                                trained_.weights);
  const int64_t rows = settings.training.micro_batch_size * settings.model.context_length;
  ops::fill<double>(context, 1.0 / static_cast<double>(rows), weights_);
  const bool one = mode == PackedMode::kSequential;
  if (one) {
    seen_weights_ = trained_.weights.worker(0);
    seen_gradients_ = trained_.gradients.worker(0);
  }
  execution_ = model::make_execution<T>(
      context, settings.model, {settings.runtime.compile, settings.runtime.amp},
      settings.training.micro_batch_size, one ? seen_weights_ : trained_.weights,
      one ? &seen_gradients_ : &trained_.gradients);
}

template <class T>
ops::Mixing PackedUpdate<T>::mixing(int64_t step) const {
  return optim::mixing_of_update(settings_.decentralized, step - 1, 1.0);
}

template <class T>
bool PackedUpdate<T>::mixes_first() const {
  return settings_.decentralized.scheme == config::Scheme::kAdaptWhileCombine;
}

template <class T>
void PackedUpdate<T>::run(int64_t step) {
  compute();
  clip();
  if (mode_ == PackedMode::kPacked) {
    trained_.optimizer.update(context_, settings_.optimizer.lr, step,
                              {numbers_.scale(), numbers_.commit()}, trained_.gradients,
                              trained_.weights, mixing(step));
    return;
  }
  if (mixes_first()) mix(step);
  adamw(step);
  if (!mixes_first()) mix(step);
}

template <class T>
void PackedUpdate<T>::compute() {
  const int64_t sequences = settings_.training.micro_batch_size;
  const int64_t rows = sequences * settings_.model.context_length;
  ops::fill<T>(context_, 0.0, trained_.gradients.all());
  const int64_t runs = mode_ == PackedMode::kSequential ? workers_ : 1;
  const int64_t together = workers_ / runs;
  for (int64_t n = 0; n < runs; ++n) {
    if (mode_ == PackedMode::kSequential) {
      seen_weights_ = trained_.weights.worker(n);
      seen_gradients_ = trained_.gradients.worker(n);
      execution_->rebind();
    }
    execution_->set_batch(sequences, inputs_.data() + n * rows, targets_.data() + n * rows);
    execution_->run_losses_and_gradients(weights_.view().worker_range(n * together, together));
    ops::sum<T>(context_, execution_->losses(),
                numbers_.loss().worker_range(n * together, together));
  }
}

template <class T>
void PackedUpdate<T>::clip() {
  const int64_t together = mode_ == PackedMode::kPacked ? workers_ : 1;
  for (int64_t n = 0; n < workers_; n += together) {
    ops::sum_of_squares<T>(context_, trained_.gradients.all().worker_range(n, together),
                           numbers_.norm().worker_range(n, together));
  }
  ops::decide_update(context_, settings_.optimizer.grad_clip, weights_, numbers_);
}

template <class T>
std::vector<double> PackedUpdate<T>::losses() {
  return backend::to_host<double>(context_, numbers_.loss());
}

template <class T>
void PackedUpdate<T>::mix(int64_t step) {
  const ops::Mixing mixing = this->mixing(step);
  if (!mixing.matrix.empty()) ops::mix<T>(context_, mixing.matrix, trained_.weights.all());
}

template <class T>
void PackedUpdate<T>::adamw(int64_t step) {
  const int64_t together = mode_ == PackedMode::kPacked ? workers_ : 1;
  for (int64_t n = 0; n < workers_; n += together) {
    trained_.optimizer.update_workers(
        context_, settings_.optimizer.lr, step,
        {numbers_.scale().worker_range(n, together), numbers_.commit()}, trained_.gradients,
        trained_.weights, n, together);
  }
}

template class PackedUpdate<float>;
template class PackedUpdate<double>;

}  // namespace saddle::bench
