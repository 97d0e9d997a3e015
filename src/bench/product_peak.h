// The rate of a large matrix product, the reference for shares of the peak.
#pragma once

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "ops/linear.h"

namespace saddle::bench {

// Operations per second of a product [size, size] x [size, size] of T: the best of `tries` after an
// untimed one.
template <class T>
double measure_product_peak(backend::Context& context, int64_t size, int tries) {
  const backend::Tensor<T> dy(context, 1, size, size);
  const backend::Tensor<T> weight(context, 1, size, size);
  const backend::Tensor<T> dx(context, 1, size, size);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= tries; ++i) {
    const Stopwatch watch;
    ops::linear_adjoint_input<T>(context, dy, weight, ops::Store::kWrite, dx);
    if (i > 0) best = std::min(best, watch.seconds());
  }
  const auto side = static_cast<double>(size);
  return 2 * side * side * side / best;
}

}  // namespace saddle::bench
