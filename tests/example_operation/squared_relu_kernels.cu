#include "example_operation/kernels.h"
#include "example_operation/squared_relu_rows.h"

void saddle::ops::cuda::add_squared_relu_kernels(KernelTable& table) {
  add_forward_kernels<SquaredReluRow>(table);
  add_adjoint_kernels<SquaredReluAdjointRow>(table);
}
