// Names of kernels in messages.
#pragma once

#include <string>

namespace emulated {

// The name of the function, from the symbols of this program; its address if there are none.
std::string kernel_name(const void* kernel);

}  // namespace emulated
