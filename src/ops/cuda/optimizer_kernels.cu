#include "ops/clipping_rows.h"
#include "ops/cuda/kernels.h"
#include "ops/mixing_rows.h"

void saddle::ops::cuda::add_optimizer_kernels(KernelTable& table) {
  add_row_kernel<DecideUpdate>(table);
  add_real_kernels<AdamWRow, AdamWColumns, MixColumns, StoreColumns, WorkerMeanColumns,
                   ConsensusColumns>(table);
}
