// Row bodies of ops/swiglu.h.
#pragma once

#include "num/number_types.h"
#include "ops/group.h"
#include "ops/second_order_rows.h"
#include "tensor/view.h"

namespace saddle::ops {

// Reads gate and up and writes a through load and store of numbers S.
template <class S, class Group, class Gate, class Up, class A>
constexpr void swiglu_row(Group group, Gate gate, Up up, int64_t cols, A&& a) {
  SADDLE_INDEPENDENT
  for (int64_t f = group.index(); f < cols; f += Group::kCount) {
    const S g = gate.load(f);
    a.store(f, g * num::sigmoid(g) * up.load(f));
  }
}

template <class L>
struct SwigluRow {
  tensor::View<const L> gate, up;
  tensor::View<L> a;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t m) const {
    swiglu_row<num::Arithmetic<L>>(group, gate.row(n, m), up.row(n, m), gate.cols(), a.row(n, m));
  }
};

template <class L>
struct SwigluAdjointRow {
  tensor::View<const L> gate, up, da;
  tensor::View<L> dgate, dup;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t m) const {
    using S = num::Arithmetic<L>;
    const int64_t cols = gate.cols();
    const tensor::Span<const L> g_row = gate.row(n, m);
    const tensor::Span<const L> u_row = up.row(n, m);
    const tensor::Span<const L> da_row = da.row(n, m);
    const tensor::Span<L> dg_row = dgate.row(n, m);
    const tensor::Span<L> du_row = dup.row(n, m);
    SADDLE_INDEPENDENT
    for (int64_t f = group.index(); f < cols; f += Group::kCount) {
      const S g = g_row.load(f);
      const S u = u_row.load(f);
      const S d = da_row.load(f);
      const S s = num::sigmoid(g);
      dg_row.store(f, d * u * s * (g * (num::Plane<S>(1) - s) + num::Plane<S>(1)));
      du_row.store(f, d * g * s);
    }
  }
};

// Row m along direction g.
template <class T>
struct SwigluSecondOrderRow {
  tensor::View<const T> gate, up, da, gate_t, up_t;
  tensor::View<T> a_t;
  tensor::View<double> terms;  // [G, M, 1]: written

  template <class Group>
  constexpr void operator()(Group group, int64_t g, int64_t m) const {
    TermSink<T> a{a_t.row(g, m).data, da.row(0, m).data};
    swiglu_row<num::Jet<T>>(group, tangent_row(gate, gate_t, g, m), tangent_row(up, up_t, g, m),
                            gate.cols(), a);
    const auto term = static_cast<double>(group.sum(a.term));
    if (group.first()) terms.row(g, m).store(0, term);
  }
};

}  // namespace saddle::ops
