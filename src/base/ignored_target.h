// A target that does not count.
#pragma once

#include <cstdint>

namespace saddle {

// Padding of the last block of a validation split, for example: its loss is 0, it has no gradient,
// and no mean counts it.
inline constexpr int32_t kIgnoredTarget = -100;

}  // namespace saddle
