#include "optim/adamw.h"

namespace saddle::optim {
namespace {

std::vector<ops::AdamWSegment> segments_of(const tensor::Layout& layout) {
  std::vector<ops::AdamWSegment> segments;
  for (const tensor::Slot& slot : layout.slots()) {
    segments.push_back({slot.offset, slot.size(), !slot.is_vector});
  }
  return segments;
}

}  // namespace

template <class T>
AdamW<T>::AdamW(backend::Context& context, const config::OptimizerSettings& settings,
                const backend::Arena<T>& weights)
    : settings_(settings),
      segments_(segments_of(weights.layout())),
      pieces_(ops::adamw_pieces(context, segments_)),
      first_moments_(context, weights.layout(), weights.workers()),
      second_moments_(context, weights.layout(), weights.workers()) {}

template <class T>
ops::AdamWStep AdamW<T>::parameters(double lr, int64_t step) const {
  return {lr, settings_.beta1, settings_.beta2, settings_.eps, settings_.weight_decay, step};
}

template <class T>
void AdamW<T>::update(backend::Context& context, double lr, int64_t step, ops::AdamWInput input,
                      const backend::Arena<T>& gradients, backend::Arena<T>& weights,
                      const ops::Mixing& mixing) {
  const int64_t workers = weights.workers();
  if (workers == 1 || mixing.matrix.empty()) {
    return update_workers(context, lr, step, input, gradients, weights, 0, workers);
  }
  ops::adamw_update_mixed<T>(context, parameters(lr, step), mixing, segments_, input,
                             gradients.all(), weights.all(), first_moments_.all(),
                             second_moments_.all());
}

template <class T>
void AdamW<T>::update_workers(backend::Context& context, double lr, int64_t step,
                              ops::AdamWInput input, const backend::Arena<T>& gradients,
                              backend::Arena<T>& weights, int64_t first, int64_t count) {
  const auto part = [&](const backend::Arena<T>& arena) {
    return arena.all().worker_range(first, count);
  };
  ops::adamw_update<T>(context, parameters(lr, step), pieces_, input, part(gradients),
                       part(weights), part(first_moments_), part(second_moments_));
}

template class AdamW<float>;
template class AdamW<double>;

}  // namespace saddle::optim
