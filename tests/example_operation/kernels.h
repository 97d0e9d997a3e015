// The kernels of the example. Those of an operation of src/ops are named in ops/cuda/kernels.h.
#pragma once

#include "ops/cuda/kernels.h"

namespace saddle::ops::cuda {

void add_squared_relu_kernels(KernelTable& table);

}  // namespace saddle::ops::cuda
