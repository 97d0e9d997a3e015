// The processor as a device: memory of the host, threads by OpenMP, products by oneDNN and BLIS.
#pragma once

#include "backend/context.h"
#include "backend/gemm_choices.h"

namespace saddle::backend::cpu {

class Processor final : public Device {
 public:
  // Errors: kDevice when the system cannot start so many threads, kInternal for less than 1.
  explicit Processor(int threads);

  int threads() const { return threads_; }
  GemmChoices& choices() { return choices_; }

  std::string name() const override { return "cpu"; }
  bool is_host() const override { return true; }
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
  int threads_;
  GemmChoices choices_;
};

}  // namespace saddle::backend::cpu
