#include "ops/rope.h"

#include <cmath>
#include <vector>

#include "ops/rope_rows.h"

namespace saddle::ops {
namespace {

// direction is +1 (forward) or -1 (adjoint).
template <class L>
void rotate(Context& context, RopeTables<Scalar<L>> tables, int64_t positions, Scalar<L> direction,
            View<L> x) {
  const int64_t half = tables.cos.cols();
  check_shape(x.cols() % (2 * half) == 0 && x.rows() % positions == 0, "rope", "x");
  check_shape(positions <= tables.cos.rows(), "rope", "the table");
  check_shape(tables.sin.same_shape(1, tables.cos.rows(), half), "rope", "the table");
  for_rows(context, {"rope", x.workers(), x.rows(), x.cols(), 2 * x.cols() * bytes_of<L>()},
           RopeRow<L>{tables.cos, tables.sin, positions, direction, x});
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

template <class L>
void rope_forward(Context& context, RopeTables<Scalar<L>> tables, int64_t positions, View<L> x) {
  rotate<L>(context, tables, positions, 1, x);
}

template <class L>
void rope_adjoint(Context& context, RopeTables<Scalar<L>> tables, int64_t positions, View<L> dx) {
  rotate<L>(context, tables, positions, -1, dx);
}

#define SADDLE_INSTANTIATE(L) template decltype(rope_forward<L>) rope_forward<L>;
SADDLE_FOR_FORWARD_STORAGE(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(L) template decltype(rope_adjoint<L>) rope_adjoint<L>;
SADDLE_FOR_ADJOINT_STORAGE(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
template decltype(rope_tables<float>) rope_tables<float>;
template decltype(rope_tables<double>) rope_tables<double>;

}  // namespace saddle::ops
