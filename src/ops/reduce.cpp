#include "ops/reduce.h"

#include "ops/reduce_rows.h"

namespace saddle::ops {
namespace {

// Contiguous rows as one row.
template <class S>
View<S> joined(View<S> x) {
  if (x.row_stride() != x.cols()) return x;
  return {x.device_data(),     x.workers(),     1, x.rows() * x.cols(), x.worker_stride(),
          x.rows() * x.cols(), x.plane_stride()};
}

// Sums of pieces by make_body(parts), then their sum. S: the numbers that are read.
template <class S, class W, class MakeBody>
void reduce(Context& context, const char* name, View<const S> x, int64_t inputs, Total total,
            View<W> totals, MakeBody&& make_body) {
  check_shape(totals.same_shape(x.workers(), 1, 1), name, "the result");
  const int64_t pieces = (x.cols() + kReducedPiece - 1) / kReducedPiece;
  const int64_t width = std::min(kReducedPiece, x.cols());
  backend::Workspace::Scope scope(context.workspace());
  const View<W> parts = scratch_view<W>(scope, x.workers(), x.rows() * pieces, 1);
  for_rows(context, {name, x.workers(), x.rows() * pieces, width, inputs * width * bytes_of<S>()},
           make_body(parts));
  for_rows(context, {"sum_parts", x.workers(), 1, parts.rows(), parts.rows() * bytes_of<W>()},
           SumParts<W>{parts, total, totals});
}

template <class T>
void dot_into(Context& context, View<const T> x, View<const T> y, Total total,
              View<double> totals) {
  check_shape(y.same_shape(x.workers(), x.rows(), x.cols()), "dot", "y");
  if (y.row_stride() == y.cols() && x.row_stride() == x.cols()) {
    x = joined(x);
    y = joined(y);
  }
  reduce<T, double>(context, "dot", x, 2, total, totals, [&](View<double> parts) {
    return DotPiece<T>{x, y, parts};
  });
}

template <class S>
void sum_into(Context& context, View<const S> x, Total total, View<num::Wide<S>> totals) {
  x = joined(x);
  reduce<S, num::Wide<S>>(context, "sum", x, 1, total, totals, [&](View<num::Wide<S>> parts) {
    return SumPiece<S>{x, parts};
  });
}

// The totals that fn(totals) writes, in host memory.
template <class W, class Fn>
std::vector<W> read_totals(Context& context, int64_t workers, Fn&& fn) {
  backend::Workspace::Scope scope(context.workspace());
  const View<W> totals = scratch_view<W>(scope, workers, 1, 1);
  fn(totals);
  std::vector<W> result(static_cast<size_t>(workers));
  for (int p = 0; p < num::kPlanes<W>; ++p) {
    std::vector<Plane<W>> plane(result.size());
    backend::copy_to_host<W>(context, totals, p, plane.data());
    for (size_t n = 0; n < plane.size(); ++n) num::NumberTraits<W>::set(result[n], p, plane[n]);
  }
  return result;
}

}  // namespace

template <class T>
void dot(Context& context, View<const T> x, View<const T> y, View<double> totals) {
  dot_into<T>(context, x, y, {}, totals);
}

template <class T>
void add_dot(Context& context, View<const T> x, View<const T> y, View<double> totals,
             double factor) {
  dot_into<T>(context, x, y, {true, factor}, totals);
}

template <class T>
void sum_of_squares(Context& context, View<const T> x, View<double> totals) {
  dot_into<T>(context, x, x, {}, totals);
}

template <class S>
void sum(Context& context, View<const S> x, View<num::Wide<S>> totals) {
  sum_into<S>(context, x, {}, totals);
}

template <class S>
void add_sum(Context& context, View<const S> x, View<num::Wide<S>> totals) {
  sum_into<S>(context, x, {true, 1}, totals);
}

template <class T>
std::vector<double> read_dot(Context& context, View<const T> x, View<const T> y) {
  return read_totals<double>(context, x.workers(),
                             [&](View<double> totals) { dot<T>(context, x, y, totals); });
}

template <class T>
std::vector<double> read_sum_of_squares(Context& context, View<const T> x) {
  return read_dot<T>(context, x, x);
}

template <class S>
std::vector<num::Wide<S>> read_sum(Context& context, View<const S> x) {
  using W = num::Wide<S>;
  return read_totals<W>(context, x.workers(), [&](View<W> totals) { sum<S>(context, x, totals); });
}

#define SADDLE_INSTANTIATE(S)               \
  template decltype(sum<S>) sum<S>;         \
  template decltype(add_sum<S>) add_sum<S>; \
  template decltype(read_sum<S>) read_sum<S>;
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
template decltype(dot<float>) dot<float>;
template decltype(dot<double>) dot<double>;
template decltype(add_dot<float>) add_dot<float>;
template decltype(add_dot<double>) add_dot<double>;
template decltype(read_dot<float>) read_dot<float>;
template decltype(read_dot<double>) read_dot<double>;
template decltype(read_sum_of_squares<float>) read_sum_of_squares<float>;
template decltype(read_sum_of_squares<double>) read_sum_of_squares<double>;
template decltype(sum_of_squares<float>) sum_of_squares<float>;
template decltype(sum_of_squares<double>) sum_of_squares<double>;

}  // namespace saddle::ops
