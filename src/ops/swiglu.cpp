#include "ops/swiglu.h"

#include "ops/swiglu_rows.h"

namespace saddle::ops {

template <class L>
void swiglu_forward(Context& context, View<const L> gate, View<const L> up, View<L> a) {
  const int64_t cols = gate.cols();
  check_shape(up.same_shape(gate.workers(), gate.rows(), cols), "swiglu_forward", "up");
  check_shape(a.same_shape(gate.workers(), gate.rows(), cols), "swiglu_forward", "a");
  for_rows(context, {"swiglu", gate.workers(), gate.rows(), cols, 3 * cols * bytes_of<L>()},
           SwigluRow<L>{gate, up, a});
}

template <class L>
void swiglu_adjoint(Context& context, View<const L> gate, View<const L> up, View<const L> da,
                    View<L> dgate, View<L> dup) {
  const int64_t cols = gate.cols();
  for (const View<const L>& x : {up, da, View<const L>(dgate), View<const L>(dup)}) {
    check_shape(x.same_shape(gate.workers(), gate.rows(), cols), "swiglu_adjoint",
                "up, da, dgate or dup");
  }
  for_rows(context, {"swiglu_adjoint", gate.workers(), gate.rows(), cols, 5 * cols * bytes_of<L>()},
           SwigluAdjointRow<L>{gate, up, da, dgate, dup});
}

template <class T>
void swiglu_second_order(Context& context, View<const T> gate, View<const T> up, View<const T> da,
                         View<const T> gate_t, View<const T> up_t, View<T> a_t, Forms forms) {
  const int64_t cols = gate.cols();
  const int64_t directions = gate_t.workers();
  for (const View<const T>& x : {up, da}) {
    check_shape(x.same_shape(1, gate.rows(), cols), "swiglu_second_order", "up or da");
  }
  for (const View<const T>& x : {gate_t, up_t, View<const T>(a_t)}) {
    check_shape(x.same_shape(directions, gate.rows(), cols), "swiglu_second_order", "a tangent");
  }
  backend::Workspace::Scope scope(context.workspace());
  const View<double> terms = scratch_view<double>(scope, directions, gate.rows(), 1);
  for_rows(context,
           {"swiglu_second_order", directions, gate.rows(), cols, 6 * cols * bytes_of<T>()},
           SwigluSecondOrderRow<T>{gate, up, da, gate_t, up_t, a_t, terms});
  add_sum<double>(context, terms, forms);
}

#define SADDLE_INSTANTIATE(L) template decltype(swiglu_forward<L>) swiglu_forward<L>;
SADDLE_FOR_FORWARD_STORAGE(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(L) template decltype(swiglu_adjoint<L>) swiglu_adjoint<L>;
SADDLE_FOR_ADJOINT_STORAGE(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
template decltype(swiglu_second_order<float>) swiglu_second_order<float>;
template decltype(swiglu_second_order<double>) swiglu_second_order<double>;

}  // namespace saddle::ops
