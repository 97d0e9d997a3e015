#include "train/evaluation.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/ignored_target.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"

namespace saddle::train {

template <class T>
Evaluator<T>::Evaluator(backend::Context& context, model::Execution<T>& execution,
                        const EvaluatorOptions& options)
    : context_(context), execution_(execution), options_(options), sum_(context, 1, 1, 1) {}

template <class T>
void Evaluator<T>::restart() {
  ops::fill<double>(context_, 0, sum_);
  targets_ = 0;
}

template <class T>
void Evaluator<T>::add(int64_t count, const int32_t* inputs, const int32_t* targets) {
  const int64_t length = options_.context_length;
  for (int64_t first = 0; first < count; first += options_.piece_size) {
    const int64_t size = std::min(options_.piece_size, count - first);
    execution_.set_batch(size, inputs + first * length, targets + first * length);
    execution_.run_losses();
    ops::add_sum<T>(context_, execution_.losses(), sum_);
  }
  targets_ += count * length - std::count(targets, targets + count * length, kIgnoredTarget);
}

template <class T>
EvaluationResult Evaluator<T>::result(double seconds, bool validation_complete) const {
  const double loss =
      backend::to_host<double>(context_, sum_.view()).front() / static_cast<double>(targets_);
  return {loss, std::exp(loss), targets_, seconds, validation_complete};
}

template <class T>
std::optional<EvaluationResult> Evaluator<T>::run(const data::ValidationSubset& subset,
                                                  bool validation_complete,
                                                  const EvaluationProgress& progress) {
  const Stopwatch watch;
  restart();
  for (int64_t first = 0; first < subset.blocks; first += options_.batch_size) {
    if (!progress(first, subset.blocks)) return std::nullopt;
    add(std::min(options_.batch_size, subset.blocks - first),
        subset.inputs.data() + first * options_.context_length,
        subset.targets.data() + first * options_.context_length);
  }
  return result(watch.seconds(), validation_complete);
}

template <class T>
std::optional<EvaluationResult> Evaluator<T>::run(data::ValidationStream& stream,
                                                  bool validation_complete,
                                                  const EvaluationProgress& progress) {
  const Stopwatch watch;
  restart();
  std::vector<int32_t> inputs(static_cast<size_t>(std::min(options_.batch_size, stream.blocks()) *
                                                  options_.context_length));
  std::vector<int32_t> targets(inputs.size());
  while (stream.position() < stream.blocks()) {
    if (!progress(stream.position(), stream.blocks())) return std::nullopt;
    const int64_t wanted = std::min(options_.batch_size, stream.blocks() - stream.position());
    add(stream.next(wanted, inputs.data(), targets.data()), inputs.data(), targets.data());
  }
  return result(watch.seconds(), validation_complete);
}

template class Evaluator<float>;
template class Evaluator<double>;

}  // namespace saddle::train
