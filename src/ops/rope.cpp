#include "ops/rope.h"

#include <cmath>

namespace saddle::ops {
namespace {

// direction is +1 (forward) or -1 (adjoint).
template <class S>
void rotate(Context& context, RopeTables<Plane<S>> tables, int64_t positions, Plane<S> direction,
            View<S> x) {
  const int64_t half = tables.cos.cols();
  check_shape(x.cols() % (2 * half) == 0 && x.rows() % positions == 0, "rope", "x");
  check_shape(positions <= tables.cos.rows(), "rope", "the table");
  const int64_t heads = x.cols() / (2 * half);
  for_rows(context, x.workers(), x.rows(), [&](int64_t n, int64_t m) {
    const Plane<S>* cos = tables.cos.row(0, m % positions).data;
    const Plane<S>* sin = tables.sin.row(0, m % positions).data;
    for (int64_t h = 0; h < heads; ++h) {
      const Span<S> first = x.row(n, m).offset(h * 2 * half);
      const Span<S> second = first.offset(half);
      SADDLE_INDEPENDENT
      for (int64_t i = 0; i < half; ++i) {
        const S a = first.load(i);
        const S b = second.load(i);
        const Plane<S> turn = sin[i] * direction;
        first.store(i, a * cos[i] - b * turn);
        second.store(i, b * cos[i] + a * turn);
      }
    }
  });
}

}  // namespace

template <class T>
void rope_tables(double theta, View<T> cos, View<T> sin) {
  const int64_t half = cos.cols();
  for (int64_t t = 0; t < cos.rows(); ++t) {
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(t) *
                           std::pow(theta, -static_cast<double>(i) / static_cast<double>(half));
      cos.row(0, t).store(i, static_cast<T>(std::cos(angle)));
      sin.row(0, t).store(i, static_cast<T>(std::sin(angle)));
    }
  }
}

template <class S>
void rope_forward(Context& context, RopeTables<Plane<S>> tables, int64_t positions, View<S> x) {
  rotate<S>(context, tables, positions, 1, x);
}

template <class S>
void rope_adjoint(Context& context, RopeTables<Plane<S>> tables, int64_t positions, View<S> dx) {
  rotate<S>(context, tables, positions, -1, dx);
}

template void rope_tables<float>(double, View<float>, View<float>);
template void rope_tables<double>(double, View<double>, View<double>);
#define SADDLE_INSTANTIATE(S) \
  template void rope_forward<S>(Context&, RopeTables<Plane<S>>, int64_t, View<S>);
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S) \
  template void rope_adjoint<S>(Context&, RopeTables<Plane<S>>, int64_t, View<S>);
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
