// The parts of the page that do not depend on the runs.
#pragma once

#include <string_view>

namespace saddle::report {

extern const std::string_view kPageStyle;   // CSS
extern const std::string_view kPageScript;  // shows values under the pointer

}  // namespace saddle::report
