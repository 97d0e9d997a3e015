// The optimizer: AdamW with its moments (ops/adamw.h).
#pragma once

#include <cstdint>
#include <vector>

#include "backend/tensor.h"
#include "config/settings.h"
#include "ops/adamw.h"
#include "ops/mixing.h"

namespace saddle::optim {

template <class T>
class AdamW {
 public:
  // Moments with the layout and workers of `weights`, initially zero. Matrices decay, gains do not.
  AdamW(backend::Context& context, const config::OptimizerSettings& settings,
        const backend::Arena<T>& weights);

  // One update of every worker with its gradient times its scale, and the mixing of the workers'
  // weights; `step` counts from 1. Nothing changes if input.commit is 0.
  void update(backend::Context& context, double lr, int64_t step, ops::AdamWInput input,
              const backend::Arena<T>& gradients, backend::Arena<T>& weights,
              const ops::Mixing& mixing = {});

  // The same for the workers [first, first + count) alone, without mixing; `input` is theirs.
  void update_workers(backend::Context& context, double lr, int64_t step, ops::AdamWInput input,
                      const backend::Arena<T>& gradients, backend::Arena<T>& weights, int64_t first,
                      int64_t count);

  // The moments that the next update uses; they may be changed through these references.
  backend::Arena<T>& first_moments() { return first_moments_; }
  backend::Arena<T>& second_moments() { return second_moments_; }
  const backend::Arena<T>& first_moments() const { return first_moments_; }
  const backend::Arena<T>& second_moments() const { return second_moments_; }

 private:
  ops::AdamWStep parameters(double lr, int64_t step) const;

  config::OptimizerSettings settings_;
  std::vector<ops::AdamWSegment> segments_;
  backend::Tensor<int32_t> pieces_;  // of the segments
  backend::Arena<T> first_moments_;
  backend::Arena<T> second_moments_;
};

}  // namespace saddle::optim
