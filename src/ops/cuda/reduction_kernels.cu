#include "ops/cuda/kernels.h"
#include "ops/orthogonalize_rows.h"
#include "ops/reduce_rows.h"

void saddle::ops::cuda::add_reduction_kernels(KernelTable& table) {
  add_forward_kernels<SumPiece>(table);
  add_real_kernels<DotPiece, SubtractCombination>(table);
  add_row_kernel<SumParts<double>>(table);
  add_row_kernel<SumParts<num::Dual<double>>>(table);
  add_row_kernel<SumParts<num::Jet<double>>>(table);
}
