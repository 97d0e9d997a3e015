#include "optim/adamw.h"

#include <algorithm>
#include <cmath>

#include "ops/reduce.h"

namespace saddle::optim {

template <class T>
std::vector<double> gradient_norms(backend::Context& context, const backend::Arena<T>& gradients) {
  std::vector<double> norms = ops::sum_of_squares<T>(context, gradients.all());
  for (double& norm : norms) norm = std::sqrt(norm);
  return norms;
}

double clip_scale(double norm, std::optional<double> clip) {
  return clip ? std::min(1.0, *clip / (norm + 1e-6)) : 1.0;
}

template <class T>
AdamW<T>::AdamW(backend::Context& context, const config::OptimizerSettings& settings,
                const backend::Arena<T>& weights)
    : settings_(settings),
      first_moments_(context, weights.layout(), weights.workers()),
      second_moments_(context, weights.layout(), weights.workers()) {
  for (const tensor::Slot& slot : weights.layout().slots()) {
    segments_.push_back({slot.offset, slot.size(), !slot.is_vector});
  }
}

template <class T>
void AdamW<T>::update(backend::Context& context, double lr, int64_t step,
                      const std::vector<double>& scales, const backend::Arena<T>& gradients,
                      backend::Arena<T>& weights, const ops::Mixing& mixing) {
  const ops::AdamWStep parameters{
      lr, settings_.beta1, settings_.beta2, settings_.eps, settings_.weight_decay, step};
  ops::adamw_update_mixed<T>(context, parameters, mixing, segments_, scales, gradients.all(),
                             weights.all(), first_moments_.all(), second_moments_.all());
}

#define SADDLE_INSTANTIATE(T)                                                                  \
  template std::vector<double> gradient_norms<T>(backend::Context&, const backend::Arena<T>&); \
  template class AdamW<T>;
SADDLE_INSTANTIATE(float)
SADDLE_INSTANTIATE(double)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::optim
