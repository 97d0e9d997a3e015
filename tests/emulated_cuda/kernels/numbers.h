// The functions of src/num in a kernel.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "num/number_types.h"
#include "num/wide.h"

namespace saddle {

// Everything that src/num can compute of x > 0, in one number.
template <class S>
constexpr S all_functions(S x) {
  using T = num::Plane<S>;
  S y = num::exp(-x) + num::log(x) * num::sqrt(x) - num::rsqrt(x) / num::sigmoid(x + T(0.5));
  y += T(2) * x;
  y -= x / T(3);
  y *= S(num::value(x) > T(1) ? T(1) : T(2));
  const num::Wide<S> wide = num::convert<num::Wide<S>>(y);
  y = num::convert<S>(wide * wide);
  return y + S(static_cast<T>(num::round_to_bf16(static_cast<float>(num::value(x)))));
}

// y[i] = all_functions(x[i]) for numbers in planes, `count` apart, in device memory.
template <class S>
void apply_all_functions(const num::Plane<S>* x, num::Plane<S>* y, int64_t count,
                         cudaStream_t stream);

}  // namespace saddle
