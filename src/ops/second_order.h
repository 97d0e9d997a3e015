// Code shared by the operations with a second-order sweep. For a scalar loss and a computation
// z = f(parents), the form v'Hv is the sum over all operations of
//
//   <adjoint of z, D^2 f [parents', parents']>          ' is the tangent along the direction v
//
// (docs/math/curvature.md). An operation's sweep therefore takes its inputs [1, ...], the adjoint
// of its output [1, ...] and the inputs' tangents along G directions [G, ...]; it writes the
// tangents of its output and adds its term of direction g to forms[g]. Tangents of x are named x_t.
//
// Formulas are not written a second time: the forward's row functions run over jets whose second
// derivative starts as zero.
#pragma once

#include <span>
#include <vector>

#include "ops/common.h"

namespace saddle::ops {

// Numbers and their tangents, in separate memory, read as jets.
template <class T>
struct TangentSpan {
  const T* value = nullptr;
  const T* tangent = nullptr;

  num::Jet<T> load(int64_t i) const { return {value[i], tangent[i], T(0)}; }
};

template <class T>
TangentSpan<T> tangent_row(View<const T> x, View<const T> x_t, int64_t g, int64_t m) {
  return {x.row(0, m).data, x_t.row(g, m).data};
}

// Receives the results of a row function over jets: keeps the tangents, and sums the second
// derivatives times the adjoint.
template <class T>
struct TermSink {
  T* tangent = nullptr;
  const T* adjoint = nullptr;
  T term{};

  void store(int64_t i, num::Jet<T> y) {
    tangent[i] = y.d;
    term += adjoint[i] * y.dd;
  }
};

// Terms of pieces of work, added up for each direction in the order of the pieces.
class Terms {
 public:
  Terms(int64_t directions, int64_t pieces)
      : directions_(directions), terms_(static_cast<size_t>(directions * pieces)) {}

  double& at(int64_t direction, int64_t piece) { return terms_[piece * directions_ + direction]; }
  void add_to(std::span<double> forms) const {
    for (size_t i = 0; i < terms_.size(); ++i) forms[i % directions_] += terms_[i];
  }

 private:
  size_t directions_;
  std::vector<double> terms_;
};

// sum_i x_i y_i, in double over blocks.
template <class T>
double row_dot(const T* x, const T* y, int64_t count) {
  constexpr int64_t kBlock = 512;
  double sum = 0;
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t end = std::min(count, first + kBlock);
    T part{};
    for (int64_t i = first; i < end; ++i) part += x[i] * y[i];
    sum += static_cast<double>(part);
  }
  return sum;
}

}  // namespace saddle::ops
