// Products of ordinary matrices with the library measured as fastest: on the processor oneDNN for
// float, BLIS for double (docs/performance.md).
#pragma once

#include <string>

#include "backend/context.h"

namespace saddle::backend {

// Computes the products of a call. Uses the context's threads, or one when called from inside a
// parallel loop. If the number of float products suits the threads, each runs whole on one thread;
// its bits may then differ from those of a single product with several threads. In double they do
// not.
// While the processor tunes its choices (backend/gemm_choices.h), float products of a new shape are
// computed several times: if beta != 0, C is then meaningless.
void multiply(Context& context, const GemmCall<float>& call);
void multiply(Context& context, const GemmCall<double>& call);
// Of bf16, with sums in float: by the processor's instructions for them, or otherwise in float.
void multiply(Context& context, const GemmCall<num::Bf16>& call);
void multiply(Context& context, const GemmCall<num::Bf16, float>& call);

// The library that computes products of T (float, double or Bf16) on the processor, with its
// version.
template <class T>
std::string product_library();
template <>
std::string product_library<num::Bf16>();
template <>
std::string product_library<float>();
template <>
std::string product_library<double>();

}  // namespace saddle::backend
