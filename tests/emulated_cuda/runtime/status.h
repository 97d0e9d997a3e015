// The outcome of a call or of a queued operation: CUDA's code, and why in words.
#pragma once

#include <fmt/format.h>

#include <string>

#include "cuda_runtime.h"

namespace emulated {

struct Status {
  cudaError_t code = cudaSuccess;
  std::string why{};

  bool ok() const { return code == cudaSuccess; }
};

template <class... Args>
Status refuse(cudaError_t code, fmt::format_string<Args...> format, Args&&... args) {
  return {code, fmt::format(format, std::forward<Args>(args)...)};
}

}  // namespace emulated
