#include "ops/embedding.h"

#include "ops/embedding_rows.h"

namespace saddle::ops {

template <class S>
void embedding_forward(Context& context, View<const int32_t> tokens, View<const S> table,
                       View<S> y) {
  const int64_t cols = table.cols();
  check_shape(tokens.same_shape(table.workers(), tokens.rows(), 1), "embedding_forward", "tokens");
  check_shape(y.same_shape(table.workers(), tokens.rows(), cols), "embedding_forward", "y");
  for_rows(context, {"embedding", y.workers(), y.rows(), cols, 2 * cols * bytes_of<S>()},
           EmbeddingRow<S>{tokens, table, y});
}

template <class S>
void embedding_adjoint(Context& context, View<const int32_t> tokens, View<const S> dy,
                       View<S> dtable) {
  check_shape(tokens.same_shape(dtable.workers(), tokens.rows(), 1), "embedding_adjoint", "tokens");
  check_shape(dy.same_shape(dtable.workers(), tokens.rows(), dtable.cols()), "embedding_adjoint",
              "dy");
  const int64_t blocks = (dy.cols() + kEmbeddingColumns - 1) / kEmbeddingColumns;
  for_large_rows(context,
                 {"embedding_adjoint", dy.workers(), blocks, kEmbeddingColumns,
                  3 * dy.rows() * kEmbeddingColumns * bytes_of<S>()},
                 EmbeddingAdjointColumns<S>{tokens, dy, dtable});
}

#define SADDLE_INSTANTIATE(S) template decltype(embedding_forward<S>) embedding_forward<S>;
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S) template decltype(embedding_adjoint<S>) embedding_adjoint<S>;
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
