// Products of bf16 matrices on the processor: by oneDNN with the processor's instructions for them
// (AVX512_BF16, AMX), or otherwise in float, from and to copies.
#pragma once

#include "backend/context.h"

namespace saddle::backend::cpu {

// Whether the processor has such instructions and oneDNN uses them.
bool has_bf16_products();

// Computes one product (call.batch has one) with the threads of the context. Takes scratch memory,
// and does only that while the context is measuring.
template <class R>
void multiply_bf16(Context& context, const GemmCall<num::Bf16, R>& call);

}  // namespace saddle::backend::cpu
