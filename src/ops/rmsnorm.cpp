#include "ops/rmsnorm.h"

#include "ops/rmsnorm_rows.h"

namespace saddle::ops {

template <class L>
void rmsnorm_forward(Context& context, View<const Arithmetic<L>> x, View<const Arithmetic<L>> gain,
                     double eps, View<L> y, View<Arithmetic<L>> r) {
  using S = Arithmetic<L>;
  const int64_t cols = x.cols();
  check_shape(gain.same_shape(x.workers(), 1, cols), "rmsnorm_forward", "the gain");
  check_shape(y.same_shape(x.workers(), x.rows(), cols), "rmsnorm_forward", "y");
  check_shape(r.same_shape(x.workers(), x.rows(), 1), "rmsnorm_forward", "r");
  for_rows(context, {"rmsnorm", x.workers(), x.rows(), cols, cols * bytes_of<S, L>()},
           NormRow<L>{x, gain, static_cast<Plane<S>>(eps), y, r});
}

template <class L>
void residual_rmsnorm_forward(Context& context, View<const Arithmetic<L>> x, View<const L> delta,
                              View<const Arithmetic<L>> gain, double eps, View<Arithmetic<L>> x_new,
                              View<L> y, View<Arithmetic<L>> r) {
  using S = Arithmetic<L>;
  const int64_t cols = x.cols();
  constexpr const char* kName = "residual_rmsnorm_forward";
  check_shape(delta.same_shape(x.workers(), x.rows(), cols), kName, "delta");
  check_shape(gain.same_shape(x.workers(), 1, cols), kName, "the gain");
  check_shape(x_new.same_shape(x.workers(), x.rows(), cols), kName, "x_new");
  check_shape(y.same_shape(x.workers(), x.rows(), cols), kName, "y");
  check_shape(r.same_shape(x.workers(), x.rows(), 1), kName, "r");
  for_rows(context,
           {"residual_rmsnorm", x.workers(), x.rows(), cols, cols * bytes_of<S, L, S, L>()},
           ResidualNormRow<L>{x, delta, gain, static_cast<Plane<S>>(eps), x_new, y, r});
}

template <class L>
void rmsnorm_adjoint(Context& context, View<const Arithmetic<L>> x, View<const Arithmetic<L>> gain,
                     View<const Arithmetic<L>> r, View<const L> dy, View<Arithmetic<L>> dx,
                     View<Arithmetic<L>> dgain, View<L> dx_operand) {
  using S = Arithmetic<L>;
  const int64_t cols = x.cols();
  check_shape(gain.same_shape(x.workers(), 1, cols), "rmsnorm_adjoint", "the gain");
  check_shape(r.same_shape(x.workers(), x.rows(), 1), "rmsnorm_adjoint", "r");
  check_shape(dy.same_shape(x.workers(), x.rows(), cols), "rmsnorm_adjoint", "dy");
  check_shape(dx.same_shape(x.workers(), x.rows(), cols), "rmsnorm_adjoint", "dx");
  check_shape(dgain.empty() || dgain.same_shape(x.workers(), 1, cols), "rmsnorm_adjoint", "dgain");
  check_shape(dx_operand.empty() || !std::is_same_v<L, S>, "rmsnorm_adjoint", "dx_operand");
  check_shape(dx_operand.empty() || dx_operand.same_shape(x.workers(), x.rows(), cols),
              "rmsnorm_adjoint", "dx_operand");
  const int64_t blocks = (x.rows() + kGainRows - 1) / kGainRows;
  backend::Workspace::Scope scope(context.workspace());
  const View<S> partial = scratch_view<S>(scope, x.workers(), blocks, cols);
  const int64_t of_row = bytes_of<S, L, S, S>() + (dx_operand.empty() ? 0 : bytes_of<L>());
  const int64_t moved = kGainRows * cols * of_row;
  for_large_rows(context, {"rmsnorm_adjoint", x.workers(), blocks, cols, moved},
                 NormAdjointRows<L>{x, gain, r, dy, dx, partial, dx_operand});
  if (dgain.empty()) return;
  for_rows(context, {"rmsnorm_gain", x.workers(), cols, blocks, blocks * bytes_of<S>()},
           NormGainColumn<S>{partial, dgain});
}

template <class T>
void rmsnorm_second_order(Context& context, View<const T> x, View<const T> gain, double eps,
                          View<const T> dy, View<const T> x_t, View<const T> gain_t, View<T> y_t,
                          Forms forms) {
  const int64_t directions = x_t.workers();
  constexpr const char* kName = "rmsnorm_second_order";
  check_shape(gain.same_shape(1, 1, x.cols()), kName, "the gain");
  check_shape(dy.same_shape(1, x.rows(), x.cols()), kName, "dy");
  check_shape(x_t.same_shape(directions, x.rows(), x.cols()), kName, "x_t");
  check_shape(gain_t.same_shape(directions, 1, x.cols()), kName, "gain_t");
  check_shape(y_t.same_shape(directions, x.rows(), x.cols()), kName, "y_t");
  backend::Workspace::Scope scope(context.workspace());
  const View<double> terms = scratch_view<double>(scope, directions, x.rows(), 1);
  for_rows(context, {kName, directions, x.rows(), x.cols(), 4 * x.cols() * bytes_of<T>()},
           NormSecondOrderRow<T>{x, gain, static_cast<T>(eps), dy, x_t, gain_t, y_t, terms});
  add_sum<double>(context, terms, forms);
}

#define SADDLE_INSTANTIATE(L)                               \
  template decltype(rmsnorm_forward<L>) rmsnorm_forward<L>; \
  template decltype(residual_rmsnorm_forward<L>) residual_rmsnorm_forward<L>;
SADDLE_FOR_FORWARD_STORAGE(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(L) template decltype(rmsnorm_adjoint<L>) rmsnorm_adjoint<L>;
SADDLE_FOR_ADJOINT_STORAGE(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
template decltype(rmsnorm_second_order<float>) rmsnorm_second_order<float>;
template decltype(rmsnorm_second_order<double>) rmsnorm_second_order<double>;

}  // namespace saddle::ops
