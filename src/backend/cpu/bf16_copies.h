// Copies of matrices between bf16 and float.
#pragma once

#include <cstdint>

#include "num/bf16.h"

namespace saddle::backend::cpu {

// to[i] = from[i] for `count` numbers.
void copy_numbers(const num::Bf16* from, int64_t count, float* to);
// The same, rounded.
void copy_numbers(const float* from, int64_t count, num::Bf16* to);

}  // namespace saddle::backend::cpu
