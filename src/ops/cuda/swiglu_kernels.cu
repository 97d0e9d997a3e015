#include "ops/cuda/kernels.h"
#include "ops/swiglu_rows.h"

void saddle::ops::cuda::add_swiglu_kernels(KernelTable& table) {
  add_forward_storage_kernels<SwigluRow>(table);
  add_adjoint_storage_kernels<SwigluAdjointRow>(table);
  add_real_kernels<SwigluSecondOrderRow>(table);
}
