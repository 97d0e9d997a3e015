// Row bodies of squared_relu.h.
#pragma once

#include "num/number_types.h"
#include "ops/group.h"
#include "tensor/view.h"

namespace saddle::ops {

// NaN stays.
template <class S>
constexpr S positive_part(S x) {
  return num::value(x) < 0 ? S{} : x;
}

template <class S>
struct SquaredReluRow {
  tensor::View<const S> x;
  tensor::View<S> y;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t m) const {
    const int64_t cols = x.cols();
    const tensor::Span<const S> x_row = x.row(n, m);
    const tensor::Span<S> y_row = y.row(n, m);
    SADDLE_INDEPENDENT
    for (int64_t c = group.index(); c < cols; c += Group::kCount) {
      const S positive = positive_part(x_row.load(c));
      y_row.store(c, positive * positive);
    }
  }
};

template <class S>
struct SquaredReluAdjointRow {
  tensor::View<const S> x, dy;
  tensor::View<S> dx;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t m) const {
    const int64_t cols = x.cols();
    const tensor::Span<const S> x_row = x.row(n, m);
    const tensor::Span<const S> dy_row = dy.row(n, m);
    const tensor::Span<S> dx_row = dx.row(n, m);
    SADDLE_INDEPENDENT
    for (int64_t c = group.index(); c < cols; c += Group::kCount) {
      dx_row.add(c, num::Plane<S>(2) * positive_part(x_row.load(c)) * dy_row.load(c));
    }
  }
};

}  // namespace saddle::ops
