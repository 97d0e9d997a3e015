#include "ops/embedding.h"

namespace saddle::ops {

template <class S>
void embedding_forward(Context& context, View<const int32_t> tokens, View<const S> table,
                       View<S> y) {
  check_shape(y.same_shape(table.workers(), tokens.rows(), table.cols()), "embedding_forward", "y");
  const int64_t cols = y.cols();
  for_rows(context, y.workers(), y.rows(), [&](int64_t n, int64_t m) {
    const Span<const S> source = table.row(n, tokens.row(n, m).load(0));
    const Span<S> out = y.row(n, m);
    SADDLE_INDEPENDENT
    for (int64_t c = 0; c < cols; ++c) out.store(c, source.load(c));
  });
}

template <class S>
void embedding_adjoint(Context& context, View<const int32_t> tokens, View<const S> dy,
                       View<S> dtable) {
  check_shape(dy.same_shape(dtable.workers(), tokens.rows(), dtable.cols()), "embedding_adjoint",
              "dy");
  // Each task owns columns, so that no two tasks add to the same number.
  constexpr int64_t kColumns = 64;
  const int64_t blocks = (dy.cols() + kColumns - 1) / kColumns;
  backend::parallel_tasks(context, dy.workers() * blocks, [&](int64_t task, int) {
    const int64_t n = task / blocks;
    const int64_t first = task % blocks * kColumns;
    const int64_t end = std::min(dy.cols(), first + kColumns);
    for (int64_t m = 0; m < dy.rows(); ++m) {
      const Span<const S> source = dy.row(n, m);
      const Span<S> target = dtable.row(n, tokens.row(n, m).load(0));
      SADDLE_INDEPENDENT
      for (int64_t c = first; c < end; ++c) target.add(c, source.load(c));
    }
  });
}

#define SADDLE_INSTANTIATE(S) \
  template void embedding_forward<S>(Context&, View<const int32_t>, View<const S>, View<S>);
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S) \
  template void embedding_adjoint<S>(Context&, View<const int32_t>, View<const S>, View<S>);
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
