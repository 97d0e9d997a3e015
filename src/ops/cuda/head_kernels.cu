#include "ops/cross_entropy_rows.h"
#include "ops/cuda/kernels.h"
#include "ops/head_rows.h"

void saddle::ops::cuda::add_head_kernels(KernelTable& table) {
  add_forward_kernels<CrossEntropyRow, TileExponentials, ChunkLosses>(table);
  add_adjoint_kernels<CrossEntropyAdjointRow, TileGradient>(table);
  add_real_kernels<TileMoments, HeadTerms>(table);
}
