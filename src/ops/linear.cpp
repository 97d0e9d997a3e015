#include "ops/linear.h"

namespace saddle::ops {
namespace {

// The workers of a, b and c, as one batch of products.
template <class L, class R>
GemmBatch workers_of(View<const L> a, View<const L> b, View<R> c) {
  return GemmLevel{c.workers(), a.worker_stride(), b.worker_stride(), c.worker_stride()};
}

}  // namespace

template <class L>
void linear_forward(Context& context, View<const L> x, View<const L> weight, View<L> y) {
  check_shape(weight.same_shape(x.workers(), weight.rows(), x.cols()), "linear_forward",
              "the weight");
  check_shape(y.same_shape(x.workers(), x.rows(), weight.rows()), "linear_forward", "y");
  products<L>(context, workers_of<L, L>(x, weight, y), Transpose::kNo, Transpose::kYes, x.rows(),
              weight.rows(), x.cols(), 1, x.row(0, 0), x.row_stride(), weight.row(0, 0),
              weight.row_stride(), 0, y.row(0, 0), y.row_stride());
}

template <class L>
void linear_adjoint_input(Context& context, View<const L> dy, View<const L> weight, Store store,
                          View<L> dx) {
  check_shape(weight.same_shape(dy.workers(), dy.cols(), weight.cols()), "linear_adjoint_input",
              "the weight");
  check_shape(dx.same_shape(dy.workers(), dy.rows(), weight.cols()), "linear_adjoint_input", "dx");
  products<L>(context, workers_of<L, L>(dy, weight, dx), Transpose::kNo, Transpose::kNo, dy.rows(),
              weight.cols(), dy.cols(), 1, dy.row(0, 0), dy.row_stride(), weight.row(0, 0),
              weight.row_stride(), store == Store::kAccumulate ? 1 : 0, dx.row(0, 0),
              dx.row_stride());
}

template <class L>
void linear_adjoint_weight(Context& context, View<const L> x, View<const L> dy,
                           View<Arithmetic<L>> dweight) {
  using S = Arithmetic<L>;
  check_shape(dy.same_shape(x.workers(), x.rows(), dy.cols()), "linear_adjoint_weight", "dy");
  check_shape(dweight.same_shape(x.workers(), dy.cols(), x.cols()), "linear_adjoint_weight",
              "dweight");
  products<L, S>(context, workers_of<L, S>(dy, x, dweight), Transpose::kYes, Transpose::kNo,
                 dy.cols(), x.cols(), x.rows(), 1, dy.row(0, 0), dy.row_stride(), x.row(0, 0),
                 x.row_stride(), 1, dweight.row(0, 0), dweight.row_stride());
}

template <class T>
void linear_second_order(Context& context, View<const T> x, View<const T> weight, View<const T> dy,
                         View<const T> x_t, View<const T> weight_t, View<T> y_t, Forms forms) {
  constexpr const char* kName = "linear_second_order";
  const int64_t M = x.rows();
  const int64_t in = x.cols();
  const int64_t out = weight.rows();
  const int64_t directions = x_t.workers();
  check_shape(weight.same_shape(1, out, in), kName, "the weight");
  check_shape(dy.same_shape(1, M, out), kName, "dy");
  check_shape(x_t.same_shape(directions, M, in), kName, "x_t");
  check_shape(weight_t.same_shape(directions, out, in), kName, "weight_t");
  check_shape(y_t.same_shape(directions, M, out), kName, "y_t");
  backend::Workspace::Scope scope(context.workspace());
  const View<T> back = scratch_view<T>(scope, 1, M, in);
  for (int64_t g = 0; g < directions; ++g) {
    const Span<T> y_row = y_t.row(g, 0);
    product<T>(context, Transpose::kNo, Transpose::kYes, M, out, in, 1, x_t.row(g, 0),
               x_t.row_stride(), weight.row(0, 0), weight.row_stride(), 0, y_row, y_t.row_stride());
    product<T>(context, Transpose::kNo, Transpose::kYes, M, out, in, 1, x.row(0, 0), x.row_stride(),
               weight_t.row(g, 0), weight_t.row_stride(), 1, y_row, y_t.row_stride());
    product<T>(context, Transpose::kNo, Transpose::kNo, M, in, out, 1, dy.row(0, 0),
               dy.row_stride(), weight_t.row(g, 0), weight_t.row_stride(), 0, back.row(0, 0), in);
    add_dot<T>(context, back, x_t.worker_range(g, 1), forms.worker_range(g, 1), 2.0);
  }
}

#define SADDLE_INSTANTIATE(L) template decltype(linear_forward<L>) linear_forward<L>;
SADDLE_FOR_FORWARD_STORAGE(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(L)                                         \
  template decltype(linear_adjoint_input<L>) linear_adjoint_input<L>; \
  template decltype(linear_adjoint_weight<L>) linear_adjoint_weight<L>;
SADDLE_FOR_ADJOINT_STORAGE(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
template decltype(linear_second_order<float>) linear_second_order<float>;
template decltype(linear_second_order<double>) linear_second_order<double>;

}  // namespace saddle::ops
