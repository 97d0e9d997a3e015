#include "ops/head.h"

#include "ops/head_chunk.h"

namespace saddle::ops {

template <class S>
void head_loss(Context& context, View<const S> x, View<const S> table, View<const int32_t> targets,
               View<S> losses) {
  check_shape(losses.same_shape(x.workers(), x.rows(), 1), "head_loss", "losses");
  backend::Workspace::Scope scope(context.workspace());
  const int64_t held = std::min(x.rows(), kHeadRows);
  HeadChunk<S> chunk(context, scope, held, table.rows(), false);
  for (int64_t n = 0; n < x.workers(); ++n) {
    for (int64_t first = 0; first < x.rows(); first += held) {
      chunk.begin(targets, n, first, std::min(held, x.rows() - first));
      chunk.make_exponentials(x, table);
      chunk.write_losses(losses);
    }
  }
}

template <class S>
void head_loss_and_gradient(Context& context, View<const S> x, View<const S> table,
                            View<const int32_t> targets, std::span<const double> weights,
                            View<S> losses, View<S> dx, View<S> dtable) {
  check_shape(losses.same_shape(x.workers(), x.rows(), 1), "head_loss_and_gradient", "losses");
  check_shape(dx.same_shape(x.workers(), x.rows(), x.cols()), "head_loss_and_gradient", "dx");
  backend::Workspace::Scope scope(context.workspace());
  const int64_t held = std::min(x.rows(), kHeadRows);
  HeadChunk<S> chunk(context, scope, held, table.rows(), true);
  for (int64_t n = 0; n < x.workers(); ++n) {
    for (int64_t first = 0; first < x.rows(); first += held) {
      chunk.begin(targets, n, first, std::min(held, x.rows() - first));
      chunk.make_exponentials(x, table);
      chunk.write_losses(losses);
      chunk.make_gradients(x, table, static_cast<Plane<S>>(weights[n]), dx, dtable);
    }
  }
}

template <class S>
int64_t head_scratch(int64_t rows, int64_t vocabulary) {
  const int64_t held = std::min(rows, kHeadRows);
  return scratch_bytes<S>(held * vocabulary) +
         scratch_bytes<Plane<S>>(held * tile_count(vocabulary)) +
         (held * static_cast<int64_t>(sizeof(ShiftedSum<S>)) + 63) / 64 * 64 +
         scratch_bytes<S>(held);
}

#define SADDLE_INSTANTIATE(S)                                                             \
  template void head_loss<S>(Context&, View<const S>, View<const S>, View<const int32_t>, \
                             View<S>);                                                    \
  template int64_t head_scratch<S>(int64_t, int64_t);
SADDLE_FOR_FORWARD_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE
#define SADDLE_INSTANTIATE(S)                                                                    \
  template void head_loss_and_gradient<S>(Context&, View<const S>, View<const S>,                \
                                          View<const int32_t>, std::span<const double>, View<S>, \
                                          View<S>, View<S>);
SADDLE_FOR_ADJOINT_NUMBERS(SADDLE_INSTANTIATE)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
