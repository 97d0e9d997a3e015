// The optimizer: gradient norms, clipping, and AdamW with its moments (ops/adamw.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/tensor.h"
#include "config/settings.h"
#include "ops/adamw.h"
#include "ops/mixing.h"

namespace saddle::optim {

// The Euclidean norm of each worker's gradient over all its parameters, in double.
template <class T>
std::vector<double> gradient_norms(backend::Context& context, const backend::Arena<T>& gradients);

// min(1, clip / (norm + 1e-6)), or 1 without clipping.
double clip_scale(double norm, std::optional<double> clip);

template <class T>
class AdamW {
 public:
  // Moments with the layout and workers of `weights`, initially zero. Matrices decay, gains do not.
  AdamW(backend::Context& context, const config::OptimizerSettings& settings,
        const backend::Arena<T>& weights);

  // One update of every worker with its gradient times scales[n], and the mixing of the workers'
  // weights; `step` counts from 1.
  void update(backend::Context& context, double lr, int64_t step, const std::vector<double>& scales,
              const backend::Arena<T>& gradients, backend::Arena<T>& weights,
              const ops::Mixing& mixing = {});

  // The moments that the next update uses; they may be changed through these references.
  backend::Arena<T>& first_moments() { return first_moments_; }
  backend::Arena<T>& second_moments() { return second_moments_; }
  const backend::Arena<T>& first_moments() const { return first_moments_; }
  const backend::Arena<T>& second_moments() const { return second_moments_; }

 private:
  config::OptimizerSettings settings_;
  std::vector<ops::AdamWSegment> segments_;
  backend::Arena<T> first_moments_;
  backend::Arena<T> second_moments_;
};

}  // namespace saddle::optim
