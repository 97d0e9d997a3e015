// Two row kernels, for the tests: matrices [rows, cols] in planes, `rows * cols` numbers apart, in
// device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "num/number.h"

namespace saddle {

// sums[row]: the sum over row `row` of x; its planes are `rows` numbers apart.
template <class S>
void sum_rows(const num::Plane<S>* x, num::Plane<S>* sums, int64_t rows, int64_t cols,
              cudaStream_t stream);

// y = x / sqrt(mean of x^2 over the row + eps).
template <class S>
void normalize_rows(const num::Plane<S>* x, num::Plane<S>* y, int64_t rows, int64_t cols,
                    num::Plane<S> eps, cudaStream_t stream);

}  // namespace saddle
