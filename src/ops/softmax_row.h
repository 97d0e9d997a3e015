// Softmax of one row of scores, forward and adjoint, for every operation with such rows:
//
//   p = exp(x - max x) / sum exp(x - max x)        dx = p (dp - sum p dp)
//
// The maximum is a constant of the calculation: it cancels, and so does its derivative.
#pragma once

#include <cstdint>
#include <limits>

#include "num/number_types.h"
#include "ops/group.h"
#include "tensor/view.h"

namespace saddle::ops {

// The largest value of a row; NaN entries are ignored (the sum becomes NaN).
template <class L, class Group>
constexpr num::Scalar<L> largest_value(Group group, tensor::Span<const L> x, int64_t count) {
  using T = num::Scalar<L>;
  const num::Plane<L>* values = x.data;
  if constexpr (Group::kCount == 1) {
    T largest = values[0];
    // Several maxima, because one in a single variable does not vectorize while NaN has a meaning.
    constexpr int64_t kMaxima = 32;
    T maxima[kMaxima] = {};
    for (int64_t j = 0; j < kMaxima; ++j) maxima[j] = largest;
    int64_t i = 0;
    for (; i + kMaxima <= count; i += kMaxima) {
      for (int64_t j = 0; j < kMaxima; ++j) {
        const T value = values[i + j];
        maxima[j] = value > maxima[j] ? value : maxima[j];
      }
    }
    for (int64_t j = 0; j < kMaxima; ++j) largest = maxima[j] > largest ? maxima[j] : largest;
    for (; i < count; ++i) largest = T(values[i]) > largest ? T(values[i]) : largest;
    return largest;
  } else {
    // Each lane reads only its own numbers: the row may be overwritten next.
    T largest = -std::numeric_limits<T>::infinity();
    for (int64_t i = group.index(); i < count; i += Group::kCount) {
      largest = T(values[i]) > largest ? T(values[i]) : largest;
    }
    return group.max(largest);
  }
}

// Writes zero (in every plane) into entries [first, end).
template <class S, class Group>
constexpr void clear_row(Group group, tensor::Span<S> x, int64_t first, int64_t end) {
  for (int64_t i = first + group.index(); i < end; i += Group::kCount) x.store(i, S{});
}

// Writes p, which may be x: [0, seen), and zero up to `count`. Writes the same into `operand`, an
// operand of a product, if that is stored in another type; otherwise it is ignored.
template <class L, class Group>
constexpr void softmax_row(Group group, tensor::Span<const num::Arithmetic<L>> x, int64_t seen,
                           int64_t count, tensor::Span<num::Arithmetic<L>> p,
                           tensor::Span<L> operand) {
  using S = num::Arithmetic<L>;
  const num::Plane<S> largest = largest_value<S>(group, x, seen);
  S sum{};
  SADDLE_INDEPENDENT
  for (int64_t i = group.index(); i < seen; i += Group::kCount) {
    const S e = num::exp(x.load(i) - largest);
    p.store(i, e);
    sum += e;
  }
  const S inverse = S(1) / group.sum(sum);
  SADDLE_INDEPENDENT
  for (int64_t i = group.index(); i < seen; i += Group::kCount) {
    const S probability = p.load(i) * inverse;
    p.store(i, probability);
    if constexpr (!std::is_same_v<L, S>) operand.store(i, probability);
  }
  clear_row<S>(group, p, seen, count);
  if constexpr (!std::is_same_v<L, S>) clear_row<L>(group, operand, seen, count);
}

// Writes dx, which may be dp: [0, seen), and zero up to `count`.
template <class L, class Group>
constexpr void softmax_row_adjoint(Group group, tensor::Span<const num::Arithmetic<L>> p,
                                   tensor::Span<const num::Arithmetic<L>> dp, int64_t seen,
                                   int64_t count, tensor::Span<L> dx) {
  using S = num::Arithmetic<L>;
  S dot{};
  SADDLE_INDEPENDENT
  for (int64_t i = group.index(); i < seen; i += Group::kCount) dot += p.load(i) * dp.load(i);
  dot = group.sum(dot);
  SADDLE_INDEPENDENT
  for (int64_t i = group.index(); i < seen; i += Group::kCount) {
    dx.store(i, p.load(i) * (dp.load(i) - dot));
  }
  clear_row<L>(group, dx, seen, count);
}

}  // namespace saddle::ops
