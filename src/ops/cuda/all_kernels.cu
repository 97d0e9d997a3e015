#include "ops/cuda/kernels.h"

saddle::backend::cuda::KernelTable saddle::ops::cuda::all_kernels() {
  KernelTable table;
  add_attention_kernels(table);
  add_elementwise_kernels(table);
  add_embedding_kernels(table);
  add_output_head_kernels(table);
  add_norm_kernels(table);
  add_optimizer_kernels(table);
  add_reduction_kernels(table);
  add_rope_kernels(table);
  add_swiglu_kernels(table);
  return table;
}
