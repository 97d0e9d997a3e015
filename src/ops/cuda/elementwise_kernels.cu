#include "ops/cuda/kernels.h"
#include "ops/elementwise_rows.h"

namespace saddle::ops::cuda {
namespace {

template <class S>
using Fill = Elementwise<S, Constant<S>>;
template <class S>
using Copy = Elementwise<S, Same<S>, S>;
template <class S>
using AddTwo = Elementwise<S, Sum<S>, S, S>;
template <class S>
using Subtract = Elementwise<S, Difference<S>, S, S>;
template <class S>
using AddScaled = Elementwise<S, ScaledSum<S>, S, S>;
template <class S>
using Scale = Elementwise<S, Scaled<S>>;
template <class S>
using Round = Elementwise<S, RoundedToBf16<S>, S>;

}  // namespace

void add_elementwise_kernels(KernelTable& table) {
  add_forward_kernels<Fill, Copy, AddTwo, Subtract, AddScaled, Scale, Round>(table);
  add_row_kernel<Elementwise<num::Bf16, Same<float>, float>>(table);
}

}  // namespace saddle::ops::cuda
