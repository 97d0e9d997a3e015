#include "ops/reduce.h"

namespace saddle::ops {
namespace {

// Contiguous rows as one row.
template <class S>
View<S> joined(View<S> x) {
  if (x.row_stride() != x.cols()) return x;
  return {x.device_data(),     x.workers(),     1, x.rows() * x.cols(), x.worker_stride(),
          x.rows() * x.cols(), x.plane_stride()};
}

// term(worker, row, first, end) returns the sum of one piece; pieces are added up in order.
template <class W, class Fn>
std::vector<W> reduce(Context& context, int64_t workers, int64_t rows, int64_t cols, Fn&& term) {
  constexpr int64_t kPiece = 4096;
  const int64_t pieces = (cols + kPiece - 1) / kPiece;
  std::vector<W> parts(workers * rows * pieces);
  backend::parallel_for(context, static_cast<int64_t>(parts.size()), [&](int64_t i) {
    const int64_t first = i % pieces * kPiece;
    const int64_t row = i / pieces;
    parts[i] = term(row / rows, row % rows, first, std::min(cols, first + kPiece));
  });
  std::vector<W> totals(workers);
  for (int64_t n = 0; n < workers; ++n) {
    for (int64_t i = 0; i < rows * pieces; ++i) totals[n] += parts[n * rows * pieces + i];
  }
  return totals;
}

}  // namespace

template <class T>
std::vector<double> dot(Context& context, View<const T> x, View<const T> y) {
  check_shape(y.same_shape(x.workers(), x.rows(), x.cols()), "dot", "y");
  if (y.row_stride() == y.cols() && x.row_stride() == x.cols()) {
    x = joined(x);
    y = joined(y);
  }
  return reduce<double>(context, x.workers(), x.rows(), x.cols(),
                        [&](int64_t n, int64_t row, int64_t first, int64_t end) {
                          const T* a = x.row(n, row).data;
                          const T* b = y.row(n, row).data;
                          double part = 0;
                          for (int64_t i = first; i < end; ++i) {
                            part += static_cast<double>(a[i]) * static_cast<double>(b[i]);
                          }
                          return part;
                        });
}

template <class T>
std::vector<double> sum_of_squares(Context& context, View<const T> x) {
  return dot<T>(context, x, x);
}

template <class S>
std::vector<num::Wide<S>> sum(Context& context, View<const S> x) {
  x = joined(x);
  return reduce<num::Wide<S>>(context, x.workers(), x.rows(), x.cols(),
                              [&](int64_t n, int64_t row, int64_t first, int64_t end) {
                                const Span<const S> a = x.row(n, row);
                                num::Wide<S> part{};
                                for (int64_t i = first; i < end; ++i) {
                                  part += num::convert<num::Wide<S>>(a.load(i));
                                }
                                return part;
                              });
}

template std::vector<double> dot<float>(Context&, View<const float>, View<const float>);
template std::vector<double> dot<double>(Context&, View<const double>, View<const double>);
template std::vector<double> sum_of_squares<float>(Context&, View<const float>);
template std::vector<double> sum_of_squares<double>(Context&, View<const double>);
#define SADDLE_INSTANTIATE(S) template std::vector<num::Wide<S>> sum<S>(Context&, View<const S>);
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
