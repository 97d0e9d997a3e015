#include "ops/elementwise.h"

namespace saddle::ops {
namespace {

// fn(first, end, worker, row) over pieces of rows of at most kPiece numbers.
template <class Fn>
void for_pieces(Context& context, int64_t workers, int64_t rows, int64_t cols, Fn&& fn) {
  constexpr int64_t kPiece = 16384;
  const int64_t pieces = (cols + kPiece - 1) / kPiece;
  for_rows(context, workers, rows * pieces, [&](int64_t n, int64_t i) {
    const int64_t first = i % pieces * kPiece;
    fn(n, i / pieces, first, std::min(cols, first + kPiece));
  });
}

template <class S, class Fn>
void transform(Context& context, View<S> out, Fn&& fn) {
  for_pieces(context, out.workers(), out.rows(), out.cols(),
             [&](int64_t n, int64_t row, int64_t first, int64_t end) {
               const Span<S> target = out.row(n, row);
               fn(n, row, first, end, target);
             });
}

}  // namespace

template <class S>
void fill(Context& context, double value, View<S> x) {
  const S number(static_cast<Plane<S>>(value));
  transform(context, x, [&](int64_t, int64_t, int64_t first, int64_t end, Span<S> target) {
    SADDLE_INDEPENDENT
    for (int64_t i = first; i < end; ++i) target.store(i, number);
  });
}

template <class S>
void copy(Context& context, View<const S> x, View<S> y) {
  check_shape(x.same_shape(y.workers(), y.rows(), y.cols()), "copy", "x");
  transform(context, y, [&](int64_t n, int64_t row, int64_t first, int64_t end, Span<S> target) {
    const Span<const S> source = x.row(n, row);
    SADDLE_INDEPENDENT
    for (int64_t i = first; i < end; ++i) target.store(i, source.load(i));
  });
}

template <class S>
void add_forward(Context& context, View<const S> x, View<const S> y, View<S> z) {
  check_shape(x.same_shape(z.workers(), z.rows(), z.cols()), "add_forward", "x");
  check_shape(y.same_shape(z.workers(), z.rows(), z.cols()), "add_forward", "y");
  transform(context, z, [&](int64_t n, int64_t row, int64_t first, int64_t end, Span<S> target) {
    const Span<const S> a = x.row(n, row);
    const Span<const S> b = y.row(n, row);
    SADDLE_INDEPENDENT
    for (int64_t i = first; i < end; ++i) target.store(i, a.load(i) + b.load(i));
  });
}

template <class S>
void subtract(Context& context, View<const S> x, View<const S> y, View<S> z) {
  check_shape(x.same_shape(z.workers(), z.rows(), z.cols()), "subtract", "x");
  check_shape(y.same_shape(z.workers(), z.rows(), z.cols()), "subtract", "y");
  transform(context, z, [&](int64_t n, int64_t row, int64_t first, int64_t end, Span<S> target) {
    const Span<const S> a = x.row(n, row);
    const Span<const S> b = y.row(n, row);
    SADDLE_INDEPENDENT
    for (int64_t i = first; i < end; ++i) target.store(i, a.load(i) - b.load(i));
  });
}

template <class S>
void accumulate(Context& context, View<const S> x, View<S> y) {
  add_forward<S>(context, x, y, y);
}

template <class S>
void add_scaled(Context& context, double factor, View<const S> x, View<S> y) {
  check_shape(x.same_shape(y.workers(), y.rows(), y.cols()), "add_scaled", "x");
  const auto a = static_cast<Plane<S>>(factor);
  transform(context, y, [&](int64_t n, int64_t row, int64_t first, int64_t end, Span<S> target) {
    const Span<const S> source = x.row(n, row);
    SADDLE_INDEPENDENT
    for (int64_t i = first; i < end; ++i) target.store(i, target.load(i) + source.load(i) * a);
  });
}

template <class S>
void scale(Context& context, double factor, View<S> x) {
  const auto a = static_cast<Plane<S>>(factor);
  transform(context, x, [&](int64_t, int64_t, int64_t first, int64_t end, Span<S> target) {
    SADDLE_INDEPENDENT
    for (int64_t i = first; i < end; ++i) target.store(i, target.load(i) * a);
  });
}

template <class S>
void round_bf16(Context& context, View<const S> x, View<S> y) {
  check_shape(x.same_shape(y.workers(), y.rows(), y.cols()), "round_bf16", "x");
  transform(context, y, [&](int64_t n, int64_t row, int64_t first, int64_t end, Span<S> target) {
    const Span<const S> source = x.row(n, row);
    SADDLE_INDEPENDENT
    for (int64_t i = first; i < end; ++i) {
      S number = source.load(i);
      if constexpr (std::is_same_v<Plane<S>, float>) {
        num::NumberTraits<S>::set(number, 0, num::round_to_bf16(num::value(number)));
      }
      target.store(i, number);
    }
  });
}

#define SADDLE_INSTANTIATE(S)                                                    \
  template void fill<S>(Context&, double, View<S>);                              \
  template void copy<S>(Context&, View<const S>, View<S>);                       \
  template void add_forward<S>(Context&, View<const S>, View<const S>, View<S>); \
  template void subtract<S>(Context&, View<const S>, View<const S>, View<S>);    \
  template void accumulate<S>(Context&, View<const S>, View<S>);                 \
  template void add_scaled<S>(Context&, double, View<const S>, View<S>);         \
  template void scale<S>(Context&, double, View<S>);                             \
  template void round_bf16<S>(Context&, View<const S>, View<S>);
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
