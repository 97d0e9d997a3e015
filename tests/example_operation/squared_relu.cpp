#include "example_operation/squared_relu.h"

#include "example_operation/squared_relu_rows.h"

namespace saddle::ops {

template <class S>
void squared_relu_forward(Context& context, View<const S> x, View<S> y) {
  const int64_t cols = x.cols();
  check_shape(y.same_shape(x.workers(), x.rows(), cols), "squared_relu_forward", "y");
  for_rows(context, {"squared_relu", x.workers(), x.rows(), cols, 2 * cols * bytes_of<S>()},
           SquaredReluRow<S>{x, y});
}

template <class S>
void squared_relu_adjoint(Context& context, View<const S> x, View<const S> dy, View<S> dx) {
  const int64_t cols = x.cols();
  check_shape(dy.same_shape(x.workers(), x.rows(), cols), "squared_relu_adjoint", "dy");
  check_shape(dx.same_shape(x.workers(), x.rows(), cols), "squared_relu_adjoint", "dx");
  for_rows(context, {"squared_relu_adjoint", x.workers(), x.rows(), cols, 4 * cols * bytes_of<S>()},
           SquaredReluAdjointRow<S>{x, dy, dx});
}

#define SADDLE_INSTANTIATE(S) template decltype(squared_relu_forward<S>) squared_relu_forward<S>;
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S) template decltype(squared_relu_adjoint<S>) squared_relu_adjoint<S>;
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
