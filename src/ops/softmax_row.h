// Softmax of one row of scores, forward and adjoint, for every operation with such rows:
//
//   p = exp(x - max x) / sum exp(x - max x)        dx = p (dp - sum p dp)
//
// The maximum is a constant of the calculation: it cancels, and so does its derivative.
#pragma once

#include "ops/common.h"

namespace saddle::ops {

// The largest value of a row; NaN entries are ignored (the sum becomes NaN).
template <class S>
Plane<S> largest_value(Span<const S> x, int64_t count) {
  // Several lanes, because a maximum in one variable does not vectorize while NaN has a meaning.
  constexpr int64_t kLanes = 32;
  const Plane<S>* values = x.data;
  Plane<S> lanes[kLanes];
  for (int64_t j = 0; j < kLanes; ++j) lanes[j] = values[0];
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) {
      lanes[j] = values[i + j] > lanes[j] ? values[i + j] : lanes[j];
    }
  }
  Plane<S> largest = lanes[0];
  for (int64_t j = 1; j < kLanes; ++j) largest = lanes[j] > largest ? lanes[j] : largest;
  for (; i < count; ++i) largest = values[i] > largest ? values[i] : largest;
  return largest;
}

// Writes p, which may be x.
template <class S>
void softmax_row(Span<const S> x, int64_t count, Span<S> p) {
  const Plane<S> largest = largest_value<S>(x, count);
  S sum{};
  SADDLE_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const S e = num::exp(x.load(i) - largest);
    p.store(i, e);
    sum += e;
  }
  const S inverse = S(1) / sum;
  SADDLE_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) p.store(i, p.load(i) * inverse);
}

// Writes dx, which may be dp.
template <class S>
void softmax_row_adjoint(Span<const S> p, Span<const S> dp, int64_t count, Span<S> dx) {
  S dot{};
  SADDLE_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) dot += p.load(i) * dp.load(i);
  SADDLE_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) dx.store(i, p.load(i) * (dp.load(i) - dot));
}

// Writes zero (in every plane) into entries [first, end).
template <class S>
void clear_row(Span<S> x, int64_t first, int64_t end) {
  for (int64_t i = first; i < end; ++i) x.store(i, S{});
}

}  // namespace saddle::ops
