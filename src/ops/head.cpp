#include "ops/head.h"

#include "ops/cross_entropy_row.h"

namespace saddle::ops {
namespace {

// Rows between two passes over the logits: few enough for the cache to hold them meanwhile.
constexpr int64_t kCacheRows = 128;

// The logits of rows [first, first + rows) of worker n into z [rows, V], then visit(row, logits)
// for each, in parallel.
template <class S, class Visit>
void for_logits(Context& context, View<const S> x, View<const S> table, int64_t n, int64_t first,
                int64_t rows, Span<S> z, Visit&& visit) {
  const int64_t vocabulary = table.rows();
  for (int64_t from = 0; from < rows; from += kCacheRows) {
    const int64_t count = std::min(kCacheRows, rows - from);
    const Span<S> part = z.offset(from * vocabulary);
    product<S>(context, Transpose::kNo, Transpose::kYes, count, vocabulary, x.cols(), 1,
               x.row(n, first + from), x.row_stride(), table.row(n, 0), table.row_stride(), 0, part,
               vocabulary);
    backend::parallel_for(context, count,
                          [&](int64_t r) { visit(first + from + r, part.offset(r * vocabulary)); });
  }
}

}  // namespace

template <class S>
void head_loss(Context& context, View<const S> x, View<const S> table, View<const int32_t> targets,
               View<S> losses) {
  check_shape(losses.same_shape(x.workers(), x.rows(), 1), "head_loss", "losses");
  const int64_t vocabulary = table.rows();
  backend::Workspace::Scope scope(context.workspace());
  const int64_t held = std::min(x.rows(), kCacheRows);
  const Span<S> z = scratch<S>(scope, held * vocabulary);
  for (int64_t n = 0; n < x.workers(); ++n) {
    for (int64_t first = 0; first < x.rows(); first += held) {
      const int64_t rows = std::min(held, x.rows() - first);
      for_logits<S>(context, x, table, n, first, rows, z, [&](int64_t m, Span<S> row) {
        const Span<const S> logits = row;
        const S lse = log_sum_exp_row<S>(logits, vocabulary);
        losses.row(n, m).store(0, cross_entropy_row<S>(logits, lse, targets.row(n, m).load(0)));
      });
    }
  }
}

template <class S>
void head_loss_and_gradient(Context& context, View<const S> x, View<const S> table,
                            View<const int32_t> targets, std::span<const double> weights,
                            View<S> losses, View<S> dx, View<S> dtable) {
  check_shape(losses.same_shape(x.workers(), x.rows(), 1), "head_loss_and_gradient", "losses");
  check_shape(dx.same_shape(x.workers(), x.rows(), x.cols()), "head_loss_and_gradient", "dx");
  const int64_t vocabulary = table.rows();
  const int64_t width = x.cols();
  backend::Workspace::Scope scope(context.workspace());
  const int64_t held = std::min(x.rows(), kHeadRows);
  const Span<S> z = scratch<S>(scope, held * vocabulary);
  const Span<const S> dz = z;
  for (int64_t n = 0; n < x.workers(); ++n) {
    const auto weight = static_cast<Plane<S>>(weights[n]);
    for (int64_t first = 0; first < x.rows(); first += held) {
      const int64_t rows = std::min(held, x.rows() - first);
      for_logits<S>(context, x, table, n, first, rows, z, [&](int64_t m, Span<S> row) {
        const Span<const S> logits = row;
        const int32_t target = targets.row(n, m).load(0);
        const S lse = log_sum_exp_row<S>(logits, vocabulary);
        losses.row(n, m).store(0, cross_entropy_row<S>(logits, lse, target));
        cross_entropy_row_adjoint<S>(logits, lse, target, weight, vocabulary, row);
      });
      product<S>(context, Transpose::kNo, Transpose::kNo, rows, width, vocabulary, 1, dz,
                 vocabulary, table.row(n, 0), table.row_stride(), 0, dx.row(n, first),
                 dx.row_stride());
      product<S>(context, Transpose::kYes, Transpose::kNo, vocabulary, width, rows, 1, dz,
                 vocabulary, x.row(n, first), x.row_stride(), 1, dtable.row(n, 0),
                 dtable.row_stride());
    }
  }
}

template <class S>
int64_t head_scratch(int64_t rows, int64_t vocabulary) {
  return scratch_bytes<S>(std::min(rows, kHeadRows) * vocabulary);
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
