// Units of memory.
#pragma once

namespace saddle {

inline constexpr double kGibibyte = 1024.0 * 1024 * 1024;

}  // namespace saddle
