// A CUDA device: memory, one stream, row kernels by a table, products by cuBLASLt.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <memory>
#include <optional>

#include "backend/cuda/kernel_table.h"
#include "backend/cuda/products.h"
#include "backend/device.h"

namespace saddle::backend::cuda {

class CudaDevice final : public Device {
 public:
  // Device `index` of the system. Errors: kDevice if it cannot be used.
  CudaDevice(int index, KernelTable kernels);
  ~CudaDevice() override;

  std::string name() const override;
  bool is_host() const override { return false; }
  void* allocate(int64_t bytes) override;
  void release(void* address, int64_t bytes) noexcept override;
  void copy_to_host(void* host, const void* device, int64_t rows, int64_t bytes,
                    int64_t stride) override;
  void copy_to_device(void* device, const void* host, int64_t rows, int64_t bytes,
                      int64_t stride) override;
  void launch(const Rows& rows, const RowBody& body) override;
  void multiply(const GemmCall<float>& call) override;
  void multiply(const GemmCall<double>& call) override;
  void multiply(const GemmCall<num::Bf16>& call) override;
  void multiply(const GemmCall<num::Bf16, float>& call) override;

 private:
  // Gives the memory that was released back to the system.
  void free_released();
  // Waits for all that was queued.
  void wait();
  // `bytes` of pinned memory that stays untouched until the next wait().
  char* stage(int64_t bytes);

  int index_;
  KernelTable kernels_;
  cudaStream_t stream_ = nullptr;
  std::optional<Products> products_;
  // Released memory by its size, for the next request of that size: what was queued before may
  // still use it, and what is queued after comes later.
  std::multimap<int64_t, void*> released_;
  char* staging_ = nullptr;  // pinned, kStagingBytes
  int64_t staged_ = 0;       // its bytes in use
};

}  // namespace saddle::backend::cuda
