// The CUDA kernels of all operations. One file for each operation adds its row bodies.
#pragma once

#include "backend/cuda/row_kernels.h"
#include "num/number_types.h"

namespace saddle::ops::cuda {

using backend::cuda::add_row_kernel;
using backend::cuda::KernelTable;

void add_attention_kernels(KernelTable& table);
void add_elementwise_kernels(KernelTable& table);
void add_embedding_kernels(KernelTable& table);
void add_output_head_kernels(KernelTable& table);
void add_norm_kernels(KernelTable& table);
void add_optimizer_kernels(KernelTable& table);
void add_reduction_kernels(KernelTable& table);
void add_rope_kernels(KernelTable& table);
void add_swiglu_kernels(KernelTable& table);

KernelTable all_kernels();

// add_row_kernel<Body<S>> for the number types of forwards, or of adjoints, or for ordinary
// numbers.
template <template <class> class... Body>
void add_forward_kernels(KernelTable& table) {
#define SADDLE_ADD(S) (add_row_kernel<Body<S>>(table), ...);
  SADDLE_FOR_FORWARD_NUMBERS(SADDLE_ADD)
}
template <template <class> class... Body>
void add_adjoint_kernels(KernelTable& table) {
  SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_ADD)
}
// Also for those that inputs of products are stored as.
template <template <class> class... Body>
void add_forward_storage_kernels(KernelTable& table) {
  SADDLE_FOR_FORWARD_STORAGE(SADDLE_ADD)
}
template <template <class> class... Body>
void add_adjoint_storage_kernels(KernelTable& table) {
  SADDLE_FOR_ADJOINT_STORAGE(SADDLE_ADD)
}
template <template <class> class... Body>
void add_real_kernels(KernelTable& table) {
  SADDLE_ADD(float)
  SADDLE_ADD(double)
#undef SADDLE_ADD
}

}  // namespace saddle::ops::cuda
