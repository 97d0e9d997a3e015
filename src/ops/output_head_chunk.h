// The logits of a chunk of rows, in tiles of columns, and their exponentials and gradients.
// Internal to ops/output_head.h and ops/output_head_second_order.h.
#pragma once

#include "ops/common.h"
#include "ops/output_head.h"
#include "ops/output_head_rows.h"

namespace saddle::ops {

inline int64_t tile_count(int64_t vocabulary) {
  return (vocabulary + kOutputHeadColumns - 1) / kOutputHeadColumns;
}

// A chunk of at most kOutputHeadRows rows of one worker, with its logits.
template <class L>
class OutputHeadChunk {
 public:
  using S = Arithmetic<L>;

  // Keeps the exponentials (Bf16: the logits) of all tiles, or, for losses alone, those of one tile
  // at a time. rounds: logits are rounded to bf16, as autocast demands where L is not Bf16.
  OutputHeadChunk(Context& context, backend::Workspace::Scope& scope, int64_t capacity,
                  int64_t vocabulary, bool keeps_all, bool rounds)
      : context_(context),
        vocabulary_(vocabulary),
        keeps_all_(keeps_all),
        rounds_(rounds),
        logits_(scratch<L>(
            scope,
            capacity * (keeps_all ? vocabulary : std::min(kOutputHeadColumns, vocabulary)))) {
    chunk_.shifts = scope.take<Plane<S>>(capacity * tile_count(vocabulary));
    chunk_.sums = scope.take<ShiftedSum<S>>(capacity);
    chunk_.target_logits = scratch<S>(scope, capacity);
    chunk_.tiles = tile_count(vocabulary);
  }

  // Begins the chunk of worker n's rows [first, first + rows).
  void begin(View<const int32_t> targets, int64_t n, int64_t first, int64_t rows) {
    n_ = n;
    first_ = first;
    rows_ = rows;
    chunk_.targets = targets.worker_range(n, 1).row_range(first, rows);
  }

  // First pass: logits, exponentials and sums of every tile.
  void make_exponentials(View<const L> x, View<const L> table) {
    for (int64_t i = 0; i < tiles(); ++i) {
      const LogitTile<L> at = tile(i);
      product<L>(context_, Transpose::kNo, Transpose::kYes, rows_, at.columns, x.cols(), 1,
                 x.row(n_, first_), x.row_stride(), table.row(n_, at.from), table.row_stride(), 0,
                 at.data, at.columns);
      if constexpr (std::is_same_v<L, S>) {
        if (rounds_)
          for_rows(context_, rows_of("output_head_round", at.columns, 2), TileRound<S>{at});
      }
      const bool writes = keeps_all_ && std::is_same_v<L, S>;
      for_rows(context_, rows_of("output_head_exponentials", at.columns, writes ? 2 : 1),
               TileExponentials<L>{chunk_, at, keeps_all_});
    }
  }

  // To be called after the first pass.
  void write_losses(View<S> losses) const {
    for_rows(context_, {"output_head_losses", 1, rows_, 1, bytes_of<S, S>()},
             ChunkLosses<S>{chunk_, losses.worker_range(n_, 1).row_range(first_, rows_)});
  }

  // Second pass: dz of every tile, and its products. weights [N, 1, 1]. dx_sum [1, rows, C] is
  // where the rows of dx are summed.
  void make_gradients(View<const L> x, View<const L> table, View<const double> weights,
                      View<S> dx_sum, View<S> dtable) {
    for (int64_t i = 0; i < tiles(); ++i) {
      const LogitTile<L> at = tile(i);
      weigh(at, weights.worker_range(n_, 1), false);
      product<L, S>(context_, Transpose::kNo, Transpose::kNo, rows_, x.cols(), at.columns, 1,
                    at.data, at.columns, table.row(n_, at.from), table.row_stride(), i == 0 ? 0 : 1,
                    dx_sum.row(0, 0), dx_sum.row_stride());
      if (dtable.empty()) continue;
      product<L, S>(context_, Transpose::kYes, Transpose::kNo, at.columns, x.cols(), rows_, 1,
                    at.data, at.columns, x.row(n_, first_), x.row_stride(), 1,
                    dtable.row(n_, at.from), dtable.row_stride());
    }
  }

  // Instead of gradients: turns the exponentials of all tiles into weight p, 0 in rows whose target
  // is ignored. weight [1, 1, 1].
  void make_probabilities(View<const double> weight) {
    for (int64_t i = 0; i < tiles(); ++i) weigh(tile(i), weight, true);
  }

  int64_t tiles() const { return chunk_.tiles; }
  int64_t worker() const { return n_; }
  int64_t first_row() const { return first_; }
  int64_t row_count() const { return rows_; }
  const ChunkRows<S>& rows() const { return chunk_; }
  // [rows, columns], contiguous.
  LogitTile<L> tile(int64_t i) const {
    const int64_t from = i * kOutputHeadColumns;
    return {keeps_all_ ? logits_.offset(from * rows_) : logits_, i, from,
            std::min(kOutputHeadColumns, vocabulary_ - from)};
  }

 private:
  void weigh(const LogitTile<L>& at, View<const double> weight, bool probabilities) {
    for_rows(context_, rows_of("output_head_gradient", at.columns, 2),
             TileGradient<L>{chunk_, at, weight, probabilities});
  }
  Rows rows_of(const char* name, int64_t width, int64_t moves) const {
    return {name, 1, rows_, width, moves * width * bytes_of<L>()};
  }

  Context& context_;
  int64_t vocabulary_;
  bool keeps_all_;
  bool rounds_;
  Span<L> logits_;  // tile after tile, [rows, columns] each
  ChunkRows<S> chunk_;
  int64_t n_ = 0, first_ = 0, rows_ = 0;
};

}  // namespace saddle::ops
