// Products of ordinary matrices by cuBLASLt. Everything that a call needs besides its operands is
// made when its shape first occurs, and kept.
#pragma once

#include <cublasLt.h>

#include <map>
#include <memory>
#include <tuple>

#include "backend/gemm_call.h"

namespace saddle::backend::cuda {

class Products {
 public:
  explicit Products(cudaStream_t stream);
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;
  ~Products();

  // Queues the products of a call. Strict: float is not computed in TF32.
  template <class T, class R>
  void multiply(const GemmCall<T, R>& call);

 private:
  // What the library makes for a shape.
  struct Shape;
  template <class T, class R>
  Shape& shape_for(const GemmCall<T, R>& call, const GemmLevel& batch);
  template <class T, class R>
  void multiply_level(const GemmCall<T, R>& call, const GemmLevel& batch);

  // A shape: sizes of the types, operations, sizes, distances, batch, alignment, whether C is read.
  using Key = std::tuple<size_t, size_t, bool, bool, int64_t, int64_t, int64_t, int64_t, int64_t,
                         int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool>;

  cudaStream_t stream_;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  size_t workspace_bytes_ = 0;
  std::map<Key, std::unique_ptr<Shape>> shapes_;
};

}  // namespace saddle::backend::cuda
