#include "ops/cuda/kernels.h"
#include "ops/embedding_rows.h"

void saddle::ops::cuda::add_embedding_kernels(KernelTable& table) {
  add_forward_kernels<EmbeddingRow>(table);
  add_adjoint_kernels<EmbeddingAdjointColumns>(table);
}
