#include "ops/swiglu.h"

#include "ops/second_order.h"

namespace saddle::ops {
namespace {

// Reads gate and up and writes a through load and store of numbers S.
template <class S, class Gate, class Up, class A>
void swiglu_row(Gate gate, Up up, int64_t cols, A&& a) {
  SADDLE_INDEPENDENT
  for (int64_t f = 0; f < cols; ++f) {
    const S g = gate.load(f);
    a.store(f, g * num::sigmoid(g) * up.load(f));
  }
}

}  // namespace

template <class S>
void swiglu_forward(Context& context, View<const S> gate, View<const S> up, View<S> a) {
  check_shape(a.same_shape(gate.workers(), gate.rows(), gate.cols()), "swiglu_forward", "a");
  const int64_t cols = gate.cols();
  for_rows(context, gate.workers(), gate.rows(), [&](int64_t n, int64_t m) {
    swiglu_row<S>(gate.row(n, m), up.row(n, m), cols, a.row(n, m));
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

template <class T>
void swiglu_second_order(Context& context, View<const T> gate, View<const T> up, View<const T> da,
                         View<const T> gate_t, View<const T> up_t, View<T> a_t,
                         std::span<double> forms) {
  check_shape(a_t.same_shape(gate_t.workers(), gate.rows(), gate.cols()), "swiglu_second_order",
              "a_t");
  Terms terms(gate_t.workers(), gate.rows());
  for_rows(context, gate_t.workers(), gate.rows(), [&](int64_t g, int64_t m) {
    TermSink<T> a{a_t.row(g, m).data, da.row(0, m).data};
    swiglu_row<num::Jet<T>>(tangent_row(gate, gate_t, g, m), tangent_row(up, up_t, g, m),
                            gate.cols(), a);
    terms.at(g, m) = static_cast<double>(a.term);
  });
  terms.add_to(forms);
}

#define SADDLE_INSTANTIATE(T)                                                                 \
  template void swiglu_second_order<T>(Context&, View<const T>, View<const T>, View<const T>, \
                                       View<const T>, View<const T>, View<T>, std::span<double>);
SADDLE_INSTANTIATE(float)
SADDLE_INSTANTIATE(double)
#undef SADDLE_INSTANTIATE
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
