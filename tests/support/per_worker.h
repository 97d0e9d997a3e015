// Numbers of each worker in device memory, as operations take weights and scales.
#pragma once

#include <vector>

#include "backend/tensor.h"

namespace saddle {

// [N, 1, 1] from one number for each worker.
inline backend::Tensor<double> per_worker(backend::Context& context,
                                          const std::vector<double>& values) {
  backend::Tensor<double> numbers(context, static_cast<int64_t>(values.size()), 1, 1);
  backend::copy_from_host<double>(context, values.data(), 0, numbers.view());
  return numbers;
}

}  // namespace saddle
