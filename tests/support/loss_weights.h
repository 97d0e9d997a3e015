// The same weight of the losses for every worker, in device memory.
#pragma once

#include <cstdint>

#include "backend/tensor.h"
#include "ops/elementwise.h"

namespace saddle::model {

inline backend::Tensor<double> loss_weights(backend::Context& context, int64_t workers,
                                            double weight) {
  backend::Tensor<double> weights(context, workers, 1, 1);
  ops::fill<double>(context, weight, weights);
  return weights;
}

}  // namespace saddle::model
