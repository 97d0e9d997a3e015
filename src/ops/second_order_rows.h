// What the row bodies of second-order sweeps share (ops/second_order.h).
#pragma once

#include <cstdint>

#include "num/jet.h"
#include "ops/group.h"
#include "tensor/view.h"

namespace saddle::ops {

// Numbers and their tangents, in separate memory, read as jets.
template <class T>
struct TangentSpan {
  const T* value = nullptr;
  const T* tangent = nullptr;

  constexpr num::Jet<T> load(int64_t i) const { return {value[i], tangent[i], T(0)}; }
};

template <class T>
constexpr TangentSpan<T> tangent_row(tensor::View<const T> x, tensor::View<const T> x_t, int64_t g,
                                     int64_t m) {
  return {x.row(0, m).data, x_t.row(g, m).data};
}

// Receives the results of a row function over jets: keeps the tangents, and sums the second
// derivatives times the adjoint. Each lane has its own.
template <class T>
struct TermSink {
  T* tangent = nullptr;
  const T* adjoint = nullptr;
  T term{};

  constexpr void store(int64_t i, num::Jet<T> y) {
    tangent[i] = y.d;
    term += adjoint[i] * y.dd;
  }
};

// This lane's part of sum_i x_i y_i, in double over blocks.
template <class T, class Group>
constexpr double lane_dot(Group group, const T* x, const T* y, int64_t count) {
  constexpr int64_t kBlock = 512 * Group::kCount;
  double sum = 0;
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t end = count < first + kBlock ? count : first + kBlock;
    T part{};
    SADDLE_INDEPENDENT
    for (int64_t i = first + group.index(); i < end; i += Group::kCount) part += x[i] * y[i];
    sum += static_cast<double>(part);
  }
  return sum;
}

}  // namespace saddle::ops
