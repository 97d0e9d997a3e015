// Names of directories that set_aside_what_cannot_go_on() (bench/sweep_run.h) renamed.
#pragma once

#include <string_view>

namespace saddle::bench {

inline constexpr std::string_view kSetAside = ".unfinished";  // -2, -3 and so on when it is taken

// Whether a directory of this name was set aside.
bool is_set_aside(std::string_view name);

}  // namespace saddle::bench
