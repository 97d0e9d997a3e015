#include "ops/rope.h"

#include <cmath>
#include <vector>

#include "ops/rope_rows.h"

namespace saddle::ops {
namespace {

// direction is +1 (forward) or -1 (adjoint).
template <class S>
void rotate(Context& context, RopeTables<Plane<S>> tables, int64_t positions, Plane<S> direction,
            View<S> x) {
  const int64_t half = tables.cos.cols();
  check_shape(x.cols() % (2 * half) == 0 && x.rows() % positions == 0, "rope", "x");
  check_shape(positions <= tables.cos.rows(), "rope", "the table");
  check_shape(tables.sin.same_shape(1, tables.cos.rows(), half), "rope", "the table");
  for_rows(context, {"rope", x.workers(), x.rows(), x.cols(), 2 * x.cols() * bytes_of<S>()},
           RopeRow<S>{tables.cos, tables.sin, positions, direction, x});
}

}  // namespace

template <class T>
void rope_tables(Context& context, double theta, View<T> cos, View<T> sin) {
  const int64_t half = cos.cols();
  check_shape(sin.same_shape(1, cos.rows(), half), "rope_tables", "sin");
  std::vector<T> cosines, sines;
  for (int64_t t = 0; t < cos.rows(); ++t) {
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(t) *
                           std::pow(theta, -static_cast<double>(i) / static_cast<double>(half));
      cosines.push_back(static_cast<T>(std::cos(angle)));
      sines.push_back(static_cast<T>(std::sin(angle)));
    }
  }
  backend::copy_from_host<T>(context, cosines.data(), 0, cos);
  backend::copy_from_host<T>(context, sines.data(), 0, sin);
}

template <class S>
void rope_forward(Context& context, RopeTables<Plane<S>> tables, int64_t positions, View<S> x) {
  rotate<S>(context, tables, positions, 1, x);
}

template <class S>
void rope_adjoint(Context& context, RopeTables<Plane<S>> tables, int64_t positions, View<S> dx) {
  rotate<S>(context, tables, positions, -1, dx);
}

#define SADDLE_INSTANTIATE(S) template decltype(rope_forward<S>) rope_forward<S>;
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S) template decltype(rope_adjoint<S>) rope_adjoint<S>;
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
template decltype(rope_tables<float>) rope_tables<float>;
template decltype(rope_tables<double>) rope_tables<double>;

}  // namespace saddle::ops
