// Row bodies of ops/embedding.h.
#pragma once

#include "num/number_types.h"
#include "ops/group.h"
#include "tensor/view.h"

namespace saddle::ops {

template <class S>
struct EmbeddingRow {
  tensor::View<const int32_t> tokens;
  tensor::View<const S> table;
  tensor::View<S> y;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t m) const {
    const tensor::Span<const S> source = table.row(n, tokens.row(n, m).load(0));
    const tensor::Span<S> out = y.row(n, m);
    const int64_t cols = y.cols();
    SADDLE_INDEPENDENT
    for (int64_t c = group.index(); c < cols; c += Group::kCount) out.store(c, source.load(c));
  }
};

// Adds all rows of kEmbeddingColumns columns: a group owns columns, so that no two groups add to
// the same number, and a lane always adds to its own. Row `block` of the loop is a block of
// columns.
inline constexpr int64_t kEmbeddingColumns = 64;

template <class S>
struct EmbeddingAdjointColumns {
  tensor::View<const int32_t> tokens;
  tensor::View<const S> dy;
  tensor::View<S> dtable;

  template <class Group>
  constexpr void operator()(Group group, int64_t n, int64_t block) const {
    const int64_t first = block * kEmbeddingColumns;
    const int64_t end =
        first + kEmbeddingColumns < dy.cols() ? first + kEmbeddingColumns : dy.cols();
    for (int64_t m = 0; m < dy.rows(); ++m) {
      const tensor::Span<const S> source = dy.row(n, m);
      const tensor::Span<S> target = dtable.row(n, tokens.row(n, m).load(0));
      SADDLE_INDEPENDENT
      for (int64_t c = first + group.index(); c < end; c += Group::kCount) {
        target.add(c, source.load(c));
      }
    }
  }
};

}  // namespace saddle::ops
