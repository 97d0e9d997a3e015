#include "ops/cuda/kernels.h"
#include "ops/rmsnorm_rows.h"

void saddle::ops::cuda::add_norm_kernels(KernelTable& table) {
  add_forward_storage_kernels<NormRow, ResidualNormRow>(table);
  add_adjoint_storage_kernels<NormAdjointRows>(table);
  add_adjoint_kernels<NormGainColumn>(table);
  add_real_kernels<NormSecondOrderRow>(table);
}
