#include "ops/cross_entropy_rows.h"
#include "ops/cuda/kernels.h"
#include "ops/output_head_rows.h"

void saddle::ops::cuda::add_output_head_kernels(KernelTable& table) {
  add_forward_kernels<CrossEntropyRow, ChunkLosses, TileRound>(table);
  add_adjoint_kernels<CrossEntropyAdjointRow>(table);
  add_forward_storage_kernels<TileExponentials>(table);
  add_adjoint_storage_kernels<TileGradient>(table);
  add_real_kernels<TileMoments, OutputHeadTerms>(table);
}
