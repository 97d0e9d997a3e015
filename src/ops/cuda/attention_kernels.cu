#include "ops/attention_rows.h"
#include "ops/cuda/kernels.h"

void saddle::ops::cuda::add_attention_kernels(KernelTable& table) {
  add_forward_kernels<SlabRound, CausalSoftmaxRow>(table);
  add_adjoint_kernels<CausalSoftmaxAdjointRow>(table);
  add_forward_storage_kernels<SlabSoftmax>(table);
  add_adjoint_storage_kernels<SlabSoftmaxAdjoint>(table);
  add_row_kernel<StoreHeads<num::Bf16>>(table);
  add_real_kernels<SlabSoftmaxSecondOrder, SlabDot>(table);
}
