// Row bodies of ops/elementwise.h. Long rows are divided into pieces; row i of a loop is a piece.
#pragma once

#include "num/number_types.h"
#include "ops/group.h"
#include "tensor/view.h"

namespace saddle::ops {

// The pieces of the rows of a tensor.
struct Pieces {
  static constexpr int64_t kPiece = 16384;

  int64_t cols = 0;

  constexpr int64_t per_row() const { return (cols + kPiece - 1) / kPiece; }
  constexpr int64_t row(int64_t i) const { return i / per_row(); }
  constexpr int64_t first(int64_t i) const { return i % per_row() * kPiece; }
  constexpr int64_t end(int64_t i) const {
    return first(i) + kPiece < cols ? first(i) + kPiece : cols;
  }
};

// out = fn(inputs...), or fn(out) without inputs, for each number, where fn is a struct with a
// constexpr operator().
template <class S, class Fn, class... In>
struct Elementwise;

template <class S, class Fn>
struct Elementwise<S, Fn> {
  Fn fn;
  tensor::View<S> out;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t i) const {
    const Pieces pieces{out.cols()};
    const tensor::Span<S> target = out.row(n, pieces.row(i));
    const int64_t end = pieces.end(i);
    SADDLE_INDEPENDENT
    for (int64_t c = pieces.first(i) + group.index(); c < end; c += Group::kCount) {
      target.store(c, fn(target.load(c)));
    }
  }
};

template <class L, class Fn, class S>
struct Elementwise<L, Fn, S> {
  Fn fn;
  tensor::View<const S> x;
  tensor::View<L> out;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t i) const {
    const Pieces pieces{out.cols()};
    const tensor::Span<const S> a = x.row(n, pieces.row(i));
    const tensor::Span<L> target = out.row(n, pieces.row(i));
    const int64_t end = pieces.end(i);
    SADDLE_INDEPENDENT
    for (int64_t c = pieces.first(i) + group.index(); c < end; c += Group::kCount) {
      target.store(c, fn(a.load(c)));
    }
  }
};

template <class S, class Fn>
struct Elementwise<S, Fn, S, S> {
  Fn fn;
  tensor::View<const S> x, y;
  tensor::View<S> out;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t i) const {
    const Pieces pieces{out.cols()};
    const tensor::Span<const S> a = x.row(n, pieces.row(i));
    const tensor::Span<const S> b = y.row(n, pieces.row(i));
    const tensor::Span<S> target = out.row(n, pieces.row(i));
    const int64_t end = pieces.end(i);
    SADDLE_INDEPENDENT
    for (int64_t c = pieces.first(i) + group.index(); c < end; c += Group::kCount) {
      target.store(c, fn(a.load(c), b.load(c)));
    }
  }
};

template <class S>
struct Constant {
  S value;
  constexpr S operator()(S) const { return value; }
};

template <class S>
struct Same {
  constexpr S operator()(S x) const { return x; }
};

template <class S>
struct Sum {
  constexpr S operator()(S x, S y) const { return x + y; }
};

template <class S>
struct Difference {
  constexpr S operator()(S x, S y) const { return x - y; }
};

// y + factor x.
template <class S>
struct ScaledSum {
  num::Plane<S> factor;
  constexpr S operator()(S x, S y) const { return y + x * factor; }
};

template <class S>
struct Scaled {
  num::Plane<S> factor;
  constexpr S operator()(S x) const { return x * factor; }
};

// The value rounded to bf16, derivatives unchanged; numbers over double are unchanged.
template <class S>
struct RoundedToBf16 {
  constexpr S operator()(S x) const { return num::with_value_rounded_to_bf16(x); }
};

}  // namespace saddle::ops
