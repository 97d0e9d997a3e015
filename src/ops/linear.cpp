#include "ops/linear.h"

#include "ops/reduce.h"

namespace saddle::ops {
namespace {

// The workers of a, b and c, as one batch of products.
template <class S>
backend::GemmBatch workers_of(View<const S> a, View<const S> b, View<S> c) {
  return {c.workers(), a.worker_stride(), b.worker_stride(), c.worker_stride()};
}

}  // namespace

template <class S>
void linear_forward(Context& context, View<const S> x, View<const S> weight, View<S> y) {
  check_shape(weight.same_shape(x.workers(), weight.rows(), x.cols()), "linear_forward",
              "the weight");
  check_shape(y.same_shape(x.workers(), x.rows(), weight.rows()), "linear_forward", "y");
  products<S>(context, workers_of<S>(x, weight, y), Transpose::kNo, Transpose::kYes, x.rows(),
              weight.rows(), x.cols(), 1, x.row(0, 0), x.row_stride(), weight.row(0, 0),
              weight.row_stride(), 0, y.row(0, 0), y.row_stride());
}

template <class S>
void linear_adjoint_input(Context& context, View<const S> dy, View<const S> weight, Store store,
                          View<S> dx) {
  check_shape(weight.same_shape(dy.workers(), dy.cols(), weight.cols()), "linear_adjoint_input",
              "the weight");
  check_shape(dx.same_shape(dy.workers(), dy.rows(), weight.cols()), "linear_adjoint_input", "dx");
  products<S>(context, workers_of<S>(dy, weight, dx), Transpose::kNo, Transpose::kNo, dy.rows(),
              weight.cols(), dy.cols(), 1, dy.row(0, 0), dy.row_stride(), weight.row(0, 0),
              weight.row_stride(), store == Store::kAccumulate ? 1 : 0, dx.row(0, 0),
              dx.row_stride());
}

template <class S>
void linear_adjoint_weight(Context& context, View<const S> x, View<const S> dy, View<S> dweight) {
  check_shape(dy.same_shape(x.workers(), x.rows(), dy.cols()), "linear_adjoint_weight", "dy");
  check_shape(dweight.same_shape(x.workers(), dy.cols(), x.cols()), "linear_adjoint_weight",
              "dweight");
  products<S>(context, workers_of<S>(dy, x, dweight), Transpose::kYes, Transpose::kNo, dy.cols(),
              x.cols(), x.rows(), 1, dy.row(0, 0), dy.row_stride(), x.row(0, 0), x.row_stride(), 1,
              dweight.row(0, 0), dweight.row_stride());
}

template <class T>
void linear_second_order(Context& context, View<const T> x, View<const T> weight, View<const T> dy,
                         View<const T> x_t, View<const T> weight_t, View<T> y_t,
                         std::span<double> forms) {
  const int64_t M = x.rows();
  const int64_t in = x.cols();
  const int64_t out = weight.rows();
  check_shape(weight_t.same_shape(x_t.workers(), out, in), "linear_second_order", "weight_t");
  check_shape(y_t.same_shape(x_t.workers(), M, out), "linear_second_order", "y_t");
  backend::Workspace::Scope scope(context.workspace());
  const Span<T> back = scratch<T>(scope, M * in);
  for (int64_t g = 0; g < x_t.workers(); ++g) {
    const Span<T> y_row = y_t.row(g, 0);
    product<T>(context, Transpose::kNo, Transpose::kYes, M, out, in, 1, x_t.row(g, 0),
               x_t.row_stride(), weight.row(0, 0), weight.row_stride(), 0, y_row, y_t.row_stride());
    product<T>(context, Transpose::kNo, Transpose::kYes, M, out, in, 1, x.row(0, 0), x.row_stride(),
               weight_t.row(g, 0), weight_t.row_stride(), 1, y_row, y_t.row_stride());
    product<T>(context, Transpose::kNo, Transpose::kNo, M, in, out, 1, dy.row(0, 0),
               dy.row_stride(), weight_t.row(g, 0), weight_t.row_stride(), 0, back, in);
    const View<const T> back_view(back.data, 1, M, in, M * in, in, 0);
    forms[g] += 2 * dot<T>(context, back_view, x_t.worker_range(g, 1))[0];
  }
}

template void linear_second_order<float>(Context&, View<const float>, View<const float>,
                                         View<const float>, View<const float>, View<const float>,
                                         View<float>, std::span<double>);
template void linear_second_order<double>(Context&, View<const double>, View<const double>,
                                          View<const double>, View<const double>,
                                          View<const double>, View<double>, std::span<double>);

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
