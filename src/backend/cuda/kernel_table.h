// The kernels of a device, found by the type of the row body (ops/rows.h).
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <typeindex>

#include "backend/device.h"

namespace saddle::backend::cuda {

class KernelTable {
 public:
  // Queues the kernel of a body for all rows.
  using Start = void (*)(const Rows& rows, const void* body, cudaStream_t stream);

  void add(std::type_index body, Start start) { kernels_[body] = start; }
  // Null if there is none.
  Start find(std::type_index body) const {
    const auto found = kernels_.find(body);
    return found == kernels_.end() ? nullptr : found->second;
  }

 private:
  std::map<std::type_index, Start> kernels_;
};

}  // namespace saddle::backend::cuda
