#include "ops/rmsnorm.h"

#include "ops/second_order.h"

namespace saddle::ops {
namespace {

// Rows whose part of the gain's gradient is summed together, for any number of threads.
constexpr int64_t kGainRows = 64;

// Reads x and gain and writes y through load and store of numbers S.
template <class S, class X, class Gain, class Y>
S normalize_row(X x, Gain gain, int64_t cols, Plane<S> eps, Y&& y) {
  S sum{};
  SADDLE_INDEPENDENT
  for (int64_t c = 0; c < cols; ++c) sum += x.load(c) * x.load(c);
  const S r = num::rsqrt(sum / Plane<S>(cols) + eps);
  SADDLE_INDEPENDENT
  for (int64_t c = 0; c < cols; ++c) y.store(c, x.load(c) * r * gain.load(c));
  return r;
}

template <class S>
void normalize_row_adjoint(Span<const S> x, Span<const S> gain, S r, int64_t cols, Span<const S> dy,
                           Span<S> dx, Span<S> dgain) {
  S dot{};
  SADDLE_INDEPENDENT
  for (int64_t c = 0; c < cols; ++c) dot += dy.load(c) * gain.load(c) * x.load(c);
  const S mean = dot * r * r / Plane<S>(cols);
  SADDLE_INDEPENDENT
  for (int64_t c = 0; c < cols; ++c) {
    dx.add(c, r * (dy.load(c) * gain.load(c) - x.load(c) * mean));
    dgain.add(c, dy.load(c) * x.load(c) * r);
  }
}

}  // namespace

template <class S>
void rmsnorm_forward(Context& context, View<const S> x, View<const S> gain, double eps, View<S> y,
                     View<S> r) {
  check_shape(y.same_shape(x.workers(), x.rows(), x.cols()), "rmsnorm_forward", "y");
  for_rows(context, x.workers(), x.rows(), [&](int64_t n, int64_t m) {
    const S row = normalize_row<S>(x.row(n, m), gain.row(n, 0), x.cols(),
                                   static_cast<Plane<S>>(eps), y.row(n, m));
    r.row(n, m).store(0, row);
  });
}

template <class S>
void residual_rmsnorm_forward(Context& context, View<const S> x, View<const S> delta,
                              View<const S> gain, double eps, View<S> x_new, View<S> y, View<S> r) {
  check_shape(y.same_shape(x.workers(), x.rows(), x.cols()), "residual_rmsnorm_forward", "y");
  const int64_t cols = x.cols();
  for_rows(context, x.workers(), x.rows(), [&](int64_t n, int64_t m) {
    const Span<const S> old = x.row(n, m);
    const Span<const S> change = delta.row(n, m);
    const Span<S> sum = x_new.row(n, m);
    SADDLE_INDEPENDENT
    for (int64_t c = 0; c < cols; ++c) sum.store(c, old.load(c) + change.load(c));
    const S row =
        normalize_row<S>(sum, gain.row(n, 0), cols, static_cast<Plane<S>>(eps), y.row(n, m));
    r.row(n, m).store(0, row);
  });
}

template <class S>
void rmsnorm_adjoint(Context& context, View<const S> x, View<const S> gain, View<const S> r,
                     View<const S> dy, View<S> dx, View<S> dgain) {
  check_shape(dx.same_shape(x.workers(), x.rows(), x.cols()), "rmsnorm_adjoint", "dx");
  const int64_t cols = x.cols();
  const int64_t blocks = (x.rows() + kGainRows - 1) / kGainRows;
  backend::Workspace::Scope scope(context.workspace());
  const Span<S> partial = scratch<S>(scope, x.workers() * blocks * cols);

  backend::parallel_for(context, x.workers() * blocks, [&](int64_t i) {
    const int64_t n = i / blocks;
    const int64_t first = i % blocks * kGainRows;
    const Span<S> sum = partial.offset(i * cols);
    for (int64_t c = 0; c < cols; ++c) sum.store(c, S{});
    for (int64_t m = first; m < std::min(x.rows(), first + kGainRows); ++m) {
      normalize_row_adjoint<S>(x.row(n, m), gain.row(n, 0), r.row(n, m).load(0), cols, dy.row(n, m),
                               dx.row(n, m), sum);
    }
  });

  if (dgain.empty()) return;
  for_rows(context, x.workers(), cols, [&](int64_t n, int64_t c) {
    num::Wide<S> total{};
    for (int64_t block = 0; block < blocks; ++block) {
      total += num::convert<num::Wide<S>>(partial.load((n * blocks + block) * cols + c));
    }
    dgain.row(n, 0).add(c, num::convert<S>(total));
  });
}

template <class T>
void rmsnorm_second_order(Context& context, View<const T> x, View<const T> gain, double eps,
                          View<const T> dy, View<const T> x_t, View<const T> gain_t, View<T> y_t,
                          std::span<double> forms) {
  check_shape(y_t.same_shape(x_t.workers(), x.rows(), x.cols()), "rmsnorm_second_order", "y_t");
  Terms terms(x_t.workers(), x.rows());
  for_rows(context, x_t.workers(), x.rows(), [&](int64_t g, int64_t m) {
    TermSink<T> y{y_t.row(g, m).data, dy.row(0, m).data};
    normalize_row<num::Jet<T>>(tangent_row(x, x_t, g, m), tangent_row(gain, gain_t, g, 0), x.cols(),
                               static_cast<T>(eps), y);
    terms.at(g, m) = static_cast<double>(y.term);
  });
  terms.add_to(forms);
}

template <class S>
int64_t rmsnorm_adjoint_scratch(int64_t workers, int64_t rows, int64_t cols) {
  return scratch_bytes<S>(workers * ((rows + kGainRows - 1) / kGainRows) * cols);
}

#define SADDLE_INSTANTIATE(S)                                                                      \
  template void rmsnorm_forward<S>(Context&, View<const S>, View<const S>, double, View<S>,        \
                                   View<S>);                                                       \
  template void residual_rmsnorm_forward<S>(Context&, View<const S>, View<const S>, View<const S>, \
                                            double, View<S>, View<S>, View<S>);
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S)                                                             \
  template void rmsnorm_adjoint<S>(Context&, View<const S>, View<const S>, View<const S>, \
                                   View<const S>, View<S>, View<S>);                      \
  template int64_t rmsnorm_adjoint_scratch<S>(int64_t, int64_t, int64_t);
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

#define SADDLE_INSTANTIATE(T)                                                                 \
  template void rmsnorm_second_order<T>(Context&, View<const T>, View<const T>, double,       \
                                        View<const T>, View<const T>, View<const T>, View<T>, \
                                        std::span<double>);
SADDLE_INSTANTIATE(float)
SADDLE_INSTANTIATE(double)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
