#include "ops/head.h"

#include "ops/cross_entropy_row.h"

namespace saddle::ops {
namespace {

int64_t tile_count(int64_t vocabulary) {
  return (vocabulary + kHeadColumns - 1) / kHeadColumns;
}

// A chunk of at most kHeadRows rows of one worker, and what is known of its logits.
template <class S>
class Chunk {
 public:
  // Keeps the exponentials of all tiles, or, for losses alone, those of one tile at a time.
  Chunk(Context& context, backend::Workspace::Scope& scope, int64_t capacity, int64_t vocabulary,
        bool keeps_all)
      : context_(context),
        vocabulary_(vocabulary),
        keeps_all_(keeps_all),
        logits_(scratch<S>(
            scope, capacity * (keeps_all ? vocabulary : std::min(kHeadColumns, vocabulary)))),
        shifts_(scope.take<Plane<S>>(capacity * tile_count(vocabulary))),
        sums_(scope.take<ShiftedSum<S>>(capacity)),
        target_logits_(scratch<S>(scope, capacity)) {}

  // Begins the chunk of worker n's rows [first, first + rows).
  void begin(View<const int32_t> targets, int64_t n, int64_t first, int64_t rows) {
    n_ = n;
    first_ = first;
    rows_ = rows;
    targets_ = targets.row_range(first, rows);
  }

  // First pass: logits, exponentials and sums of every tile.
  void make_exponentials(View<const S> x, View<const S> table) {
    for (int64_t tile = 0; tile < tile_count(vocabulary_); ++tile) {
      const int64_t from = tile * kHeadColumns;
      const int64_t columns = columns_of(tile);
      const Span<S> z = tile_of(tile);
      product<S>(context_, Transpose::kNo, Transpose::kYes, rows_, columns, x.cols(), 1,
                 x.row(n_, first_), x.row_stride(), table.row(n_, from), table.row_stride(), 0, z,
                 columns);
      for_rows(context_, 1, rows_, [&](int64_t, int64_t r) {
        const Span<S> row = z.offset(r * columns);
        const int64_t target = target_of(r) - from;
        if (target >= 0 && target < columns) target_logits_.store(r, row.load(target));
        const ShiftedSum<S> part = exponentials<S>(row, columns, row);
        shifts_[r * tile_count(vocabulary_) + tile] = part.shift;
        sums_[r] = tile == 0 ? part : merge(sums_[r], part);
      });
    }
  }

  // After the first pass.
  void write_losses(View<S> losses) const {
    for (int64_t r = 0; r < rows_; ++r) {
      losses.row(n_, first_ + r)
          .store(0, target_of(r) == kIgnoredTarget
                        ? S{}
                        : cross_entropy<S>(log_sum_exp(sums_[r]), target_logits_.load(r)));
    }
  }

  // Second pass: dz of every tile, and its products.
  void make_gradients(View<const S> x, View<const S> table, Plane<S> weight, View<S> dx,
                      View<S> dtable) {
    for (int64_t tile = 0; tile < tile_count(vocabulary_); ++tile) {
      const int64_t from = tile * kHeadColumns;
      const int64_t columns = columns_of(tile);
      const Span<S> dz = tile_of(tile);
      for_rows(context_, 1, rows_, [&](int64_t, int64_t r) {
        const Span<S> row = dz.offset(r * columns);
        if (target_of(r) == kIgnoredTarget) {
          clear_row<S>(row, 0, columns);
          return;
        }
        probabilities_times_weight<S>(row, shifts_[r * tile_count(vocabulary_) + tile],
                                      log_sum_exp(sums_[r]), weight, columns, row);
        const int64_t target = target_of(r) - from;
        if (target >= 0 && target < columns) subtract_target<S>(row, target, weight);
      });
      product<S>(context_, Transpose::kNo, Transpose::kNo, rows_, x.cols(), columns, 1, dz, columns,
                 table.row(n_, from), table.row_stride(), tile == 0 ? 0 : 1, dx.row(n_, first_),
                 dx.row_stride());
      if (dtable.empty()) continue;
      product<S>(context_, Transpose::kYes, Transpose::kNo, columns, x.cols(), rows_, 1, dz,
                 columns, x.row(n_, first_), x.row_stride(), 1, dtable.row(n_, from),
                 dtable.row_stride());
    }
  }

 private:
  int64_t target_of(int64_t r) const { return targets_.row(n_, r).load(0); }
  int64_t columns_of(int64_t tile) const {
    return std::min(kHeadColumns, vocabulary_ - tile * kHeadColumns);
  }
  Span<S> tile_of(int64_t tile) const {
    return keeps_all_ ? logits_.offset(tile * kHeadColumns * rows_) : logits_;
  }

  Context& context_;
  int64_t vocabulary_;
  bool keeps_all_;
  Span<S> logits_;         // tile after tile, [rows, columns] each
  Plane<S>* shifts_;       // [rows][tiles]
  ShiftedSum<S>* sums_;    // [rows]
  Span<S> target_logits_;  // [rows]
  View<const int32_t> targets_;
  int64_t n_ = 0, first_ = 0, rows_ = 0;
};

}  // namespace

template <class S>
void head_loss(Context& context, View<const S> x, View<const S> table, View<const int32_t> targets,
               View<S> losses) {
  check_shape(losses.same_shape(x.workers(), x.rows(), 1), "head_loss", "losses");
  backend::Workspace::Scope scope(context.workspace());
  const int64_t held = std::min(x.rows(), kHeadRows);
  Chunk<S> chunk(context, scope, held, table.rows(), false);
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
  Chunk<S> chunk(context, scope, held, table.rows(), true);
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
