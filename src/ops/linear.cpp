#include "ops/linear.h"

namespace saddle::ops {

template <class S>
void linear_forward(Context& context, View<const S> x, View<const S> weight, View<S> y) {
  check_shape(weight.cols() == x.cols(), "linear_forward", "the weight");
  check_shape(y.same_shape(x.workers(), x.rows(), weight.rows()), "linear_forward", "y");
  for (int64_t n = 0; n < x.workers(); ++n) {
    product<S>(context, Transpose::kNo, Transpose::kYes, x.rows(), weight.rows(), x.cols(), 1,
               x.row(n, 0), x.row_stride(), weight.row(n, 0), weight.row_stride(), 0, y.row(n, 0),
               y.row_stride());
  }
}

template <class S>
void linear_adjoint_input(Context& context, View<const S> dy, View<const S> weight, Store store,
                          View<S> dx) {
  check_shape(weight.rows() == dy.cols(), "linear_adjoint_input", "the weight");
  check_shape(dx.same_shape(dy.workers(), dy.rows(), weight.cols()), "linear_adjoint_input", "dx");
  for (int64_t n = 0; n < dy.workers(); ++n) {
    product<S>(context, Transpose::kNo, Transpose::kNo, dy.rows(), weight.cols(), dy.cols(), 1,
               dy.row(n, 0), dy.row_stride(), weight.row(n, 0), weight.row_stride(),
               store == Store::kAccumulate ? 1 : 0, dx.row(n, 0), dx.row_stride());
  }
}

template <class S>
void linear_adjoint_weight(Context& context, View<const S> x, View<const S> dy, View<S> dweight) {
  check_shape(dweight.same_shape(x.workers(), dy.cols(), x.cols()), "linear_adjoint_weight",
              "dweight");
  for (int64_t n = 0; n < x.workers(); ++n) {
    product<S>(context, Transpose::kYes, Transpose::kNo, dy.cols(), x.cols(), x.rows(), 1,
               dy.row(n, 0), dy.row_stride(), x.row(n, 0), x.row_stride(), 1, dweight.row(n, 0),
               dweight.row_stride());
  }
}

#define SADDLE_INSTANTIATE(S) \
  template void linear_forward<S>(Context&, View<const S>, View<const S>, View<S>);
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S)                                                                    \
  template void linear_adjoint_input<S>(Context&, View<const S>, View<const S>, Store, View<S>); \
  template void linear_adjoint_weight<S>(Context&, View<const S>, View<const S>, View<S>);
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
