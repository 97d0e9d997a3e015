// Row bodies of AdamW (the formula is in ops/adamw.h).
#pragma once

#include <cmath>

#include "ops/group.h"
#include "tensor/layout.h"
#include "tensor/view.h"

namespace saddle::ops {

// The constants of an update, rounded once to the type of the numbers.
template <class T>
struct AdamWConstants {
  T beta1, rest1, beta2, rest2, rate, root, eps, keep_decaying;
};

// The arenas of an update, [N, 1, D_padded].
template <class T>
struct AdamWArenas {
  tensor::View<const T> gradients;
  tensor::View<T> weights, first_moments, second_moments;
};

// A piece of a worker's part of the arenas.
struct AdamWPiece {
  int64_t first;
  int64_t count;
  bool decays;
};

constexpr AdamWPiece adamw_piece(tensor::View<const int32_t> pieces, int64_t i) {
  constexpr int64_t kAlignment = tensor::Layout::kAlignment;
  const int32_t* piece = pieces.row(0, i).data;
  return {piece[0] * kAlignment, piece[1], piece[2] != 0};
}

// Writes w, m and v at [0, count): w from `before`, which may be w. All callers share one piece of
// machine code: inlined copies could fuse different multiplications with additions and differ in
// the last bit.
template <class T, class Group>
#if !defined(__CUDACC__)
[[gnu::noinline, gnu::noclone]]
#endif
constexpr void
adamw_row(Group group, const AdamWConstants<T>& constants, bool decays, T scale, int64_t count,
          const T* gradient, const T* before, T* w, T* m, T* v) {
  const AdamWConstants<T> c = constants;
  const T keep = decays ? c.keep_decaying : T(1);
  SADDLE_INDEPENDENT
  for (int64_t i = group.index(); i < count; i += Group::kCount) {
    const T g = gradient[i] * scale;
    const T first = m[i] * c.beta1 + g * c.rest1;
    const T second = v[i] * c.beta2 + g * g * c.rest2;
    m[i] = first;
    v[i] = second;
    w[i] = before[i] * keep - c.rate * first / (std::sqrt(second) * c.root + c.eps);
  }
}

// Whether an update may change anything; an empty flag: yes.
constexpr bool may_commit(tensor::View<const double> commit) {
  return commit.empty() || commit.row(0, 0).load(0) != 0;
}

// Piece i of worker n.
template <class T>
struct AdamWRow {
  AdamWConstants<T> constants;
  tensor::View<const int32_t> pieces;
  tensor::View<const double> scales, commit;
  AdamWArenas<T> at;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t i) const {
    if (!may_commit(commit)) return;
    const AdamWPiece piece = adamw_piece(pieces, i);
    T* w = at.weights.row(n, 0).data + piece.first;
    adamw_row<T>(group, constants, piece.decays, static_cast<T>(scales.row(n, 0).load(0)),
                 piece.count, at.gradients.row(n, 0).data + piece.first, w, w,
                 at.first_moments.row(n, 0).data + piece.first,
                 at.second_moments.row(n, 0).data + piece.first);
  }
};

}  // namespace saddle::ops
