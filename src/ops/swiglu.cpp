#include "ops/swiglu.h"

namespace saddle::ops {

template <class S>
void swiglu_forward(Context& context, View<const S> gate, View<const S> up, View<S> a) {
  check_shape(a.same_shape(gate.workers(), gate.rows(), gate.cols()), "swiglu_forward", "a");
  const int64_t cols = gate.cols();
  for_rows(context, gate.workers(), gate.rows(), [&](int64_t n, int64_t m) {
    const Span<const S> g_row = gate.row(n, m);
    const Span<const S> u_row = up.row(n, m);
    const Span<S> a_row = a.row(n, m);
    SADDLE_INDEPENDENT
    for (int64_t f = 0; f < cols; ++f) {
      const S g = g_row.load(f);
      a_row.store(f, g * num::sigmoid(g) * u_row.load(f));
    }
  });
}

template <class S>
void swiglu_adjoint(Context& context, View<const S> gate, View<const S> up, View<const S> da,
                    View<S> dgate, View<S> dup) {
  check_shape(dgate.same_shape(gate.workers(), gate.rows(), gate.cols()), "swiglu_adjoint",
              "dgate");
  const int64_t cols = gate.cols();
  for_rows(context, gate.workers(), gate.rows(), [&](int64_t n, int64_t m) {
    const Span<const S> g_row = gate.row(n, m);
    const Span<const S> u_row = up.row(n, m);
    const Span<const S> da_row = da.row(n, m);
    const Span<S> dg_row = dgate.row(n, m);
    const Span<S> du_row = dup.row(n, m);
    SADDLE_INDEPENDENT
    for (int64_t f = 0; f < cols; ++f) {
      const S g = g_row.load(f);
      const S u = u_row.load(f);
      const S d = da_row.load(f);
      const S s = num::sigmoid(g);
      dg_row.store(f, d * u * s * (g * (Plane<S>(1) - s) + Plane<S>(1)));
      du_row.store(f, d * g * s);
    }
  });
}

#define SADDLE_INSTANTIATE(S) \
  template void swiglu_forward<S>(Context&, View<const S>, View<const S>, View<S>);
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S)                                                                     \
  template void swiglu_adjoint<S>(Context&, View<const S>, View<const S>, View<const S>, View<S>, \
                                  View<S>);
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
