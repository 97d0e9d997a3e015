#include "backend/cpu/bf16_copies.h"

namespace saddle::backend::cpu {

void copy_numbers(const num::Bf16* from, int64_t count, float* to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = from[i];
}

void copy_numbers(const float* from, int64_t count, num::Bf16* to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = num::Bf16(from[i]);
}

}  // namespace saddle::backend::cpu
