#include "ops/cuda/kernels.h"
#include "ops/rope_rows.h"

void saddle::ops::cuda::add_rope_kernels(KernelTable& table) {
  add_forward_storage_kernels<RopeRow>(table);
}
