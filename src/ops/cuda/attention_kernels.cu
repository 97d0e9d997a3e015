#include "ops/attention_rows.h"
#include "ops/cuda/kernels.h"

void saddle::ops::cuda::add_attention_kernels(KernelTable& table) {
  add_forward_kernels<SlabSoftmax, SlabRound, CausalSoftmaxRow>(table);
  add_adjoint_kernels<SlabSoftmaxAdjoint, CausalSoftmaxAdjointRow>(table);
  add_real_kernels<SlabSoftmaxSecondOrder, SlabDot>(table);
}
