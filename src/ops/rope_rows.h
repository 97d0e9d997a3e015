// Row body of ops/rope.h.
#pragma once

#include "num/number_types.h"
#include "ops/group.h"
#include "tensor/view.h"

namespace saddle::ops {

// Rotates the heads of one row in place, forward (direction +1) or back (-1).
template <class L>
struct RopeRow {
  using S = num::Arithmetic<L>;
  tensor::View<const num::Plane<S>> cos, sin;  // [1, T, h/2]
  int64_t positions;
  num::Plane<S> direction;
  tensor::View<L> x;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t m) const {
    const int64_t half = cos.cols();
    const num::Plane<S>* c = cos.row(0, m % positions).data;
    const num::Plane<S>* s = sin.row(0, m % positions).data;
    for (int64_t begin = 0; begin < x.cols(); begin += 2 * half) {
      const tensor::Span<L> first = x.row(n, m).offset(begin);
      const tensor::Span<L> second = first.offset(half);
      SADDLE_INDEPENDENT
      for (int64_t i = group.index(); i < half; i += Group::kCount) {
        const S a = first.load(i);
        const S b = second.load(i);
        const num::Plane<S> turn = s[i] * direction;
        first.store(i, a * c[i] - b * turn);
        second.store(i, b * c[i] + a * turn);
      }
    }
  }
};

}  // namespace saddle::ops
