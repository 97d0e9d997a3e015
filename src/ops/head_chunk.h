// The logits of a chunk of rows, in tiles of columns, and their exponentials and gradients.
// Internal to ops/head.h and ops/head_second_order.h.
#pragma once

#include "ops/cross_entropy_row.h"
#include "ops/head.h"

namespace saddle::ops {

inline int64_t tile_count(int64_t vocabulary) {
  return (vocabulary + kHeadColumns - 1) / kHeadColumns;
}

// Scratch in bytes of a chunk of at most `capacity` rows, divided among `threads` threads.
template <class S>
int64_t chunk_scratch(int64_t capacity, int64_t vocabulary, bool keeps_all, int64_t threads) {
  const int64_t columns = std::min(kHeadColumns, vocabulary);
  const int64_t logits =
      keeps_all ? scratch_bytes<S>(capacity * vocabulary)
                : scratch_bytes<S>(capacity * columns) + threads * scratch_bytes<S>(columns);
  return logits + scratch_bytes<Plane<S>>(capacity * tile_count(vocabulary)) +
         (capacity * static_cast<int64_t>(sizeof(ShiftedSum<S>)) + 63) / 64 * 64 +
         scratch_bytes<S>(capacity);
}

// A chunk of at most kHeadRows rows of one worker, with its logits.
template <class S>
class HeadChunk {
 public:
  // Keeps the exponentials of all tiles, or, for losses alone, those of one tile at a time.
  HeadChunk(Context& context, backend::Workspace::Scope& scope, int64_t capacity,
            int64_t vocabulary, bool keeps_all)
      : context_(context),
        vocabulary_(vocabulary),
        keeps_all_(keeps_all),
        logits_(scratch<S>(
            scope, capacity * (keeps_all ? vocabulary : std::min(kHeadColumns, vocabulary)))),
        shifts_(scope.take<Plane<S>>(capacity * tile_count(vocabulary))),
        sums_(scope.take<ShiftedSum<S>>(capacity)),
        target_logits_(scratch<S>(scope, capacity)) {
    if (!keeps_all) {
      for (int thread = 0; thread < context.threads(); ++thread) {
        rows_of_threads_.push_back(scratch<S>(scope, std::min(kHeadColumns, vocabulary)));
      }
    }
  }

  // Begins the chunk of worker n's rows [first, first + rows).
  void begin(View<const int32_t> targets, int64_t n, int64_t first, int64_t rows) {
    n_ = n;
    first_ = first;
    rows_ = rows;
    targets_ = targets.row_range(first, rows);
  }

  // First pass: logits, exponentials and sums of every tile.
  void make_exponentials(View<const S> x, View<const S> table) {
    for (int64_t tile = 0; tile < tiles(); ++tile) {
      const int64_t from = tile * kHeadColumns;
      const int64_t columns = columns_of(tile);
      const Span<S> z = tile_of(tile);
      // Inside a parallel region of the caller the loop is not shared, and the thread's number is
      // the caller's.
      const bool shared = omp_in_parallel() == 0;
      product<S>(context_, Transpose::kNo, Transpose::kYes, rows_, columns, x.cols(), 1,
                 x.row(n_, first_), x.row_stride(), table.row(n_, from), table.row_stride(), 0, z,
                 columns);
      for_rows(context_, 1, rows_, [&](int64_t, int64_t r) {
        const Span<S> row = z.offset(r * columns);
        const int64_t target = target_of(r) - from;
        if (target >= 0 && target < columns) target_logits_.store(r, row.load(target));
        // Unless kept, exponentials are not written back to the tile, which exceeds a core's cache.
        const Span<S> kept = keeps_all_ ? row : rows_of_threads_[shared ? omp_get_thread_num() : 0];
        const ShiftedSum<S> part = exponentials<S>(row, columns, kept);
        shifts_[r * tiles() + tile] = part.shift;
        sums_[r] = tile == 0 ? part : merge(sums_[r], part);
      });
    }
  }

  // To be called after the first pass.
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
    for (int64_t tile = 0; tile < tiles(); ++tile) {
      const int64_t from = tile * kHeadColumns;
      const int64_t columns = columns_of(tile);
      const Span<S> dz = tile_of(tile);
      for_rows(context_, 1, rows_, [&](int64_t, int64_t r) {
        const Span<S> row = dz.offset(r * columns);
        if (!weigh(tile, r, weight, row)) return;
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

  // Instead of gradients: turns the exponentials of all tiles into weight p, 0 in rows whose target
  // is ignored.
  void make_probabilities(Plane<S> weight) {
    for (int64_t tile = 0; tile < tiles(); ++tile) {
      const int64_t columns = columns_of(tile);
      for_rows(context_, 1, rows_, [&](int64_t, int64_t r) {
        weigh(tile, r, weight, tile_of(tile).offset(r * columns));
      });
    }
  }

  int64_t tiles() const { return tile_count(vocabulary_); }
  int64_t target_of(int64_t r) const { return targets_.row(n_, r).load(0); }
  int64_t columns_of(int64_t tile) const {
    return std::min(kHeadColumns, vocabulary_ - tile * kHeadColumns);
  }
  // [rows, columns_of(tile)], contiguous.
  Span<S> tile_of(int64_t tile) const {
    return keeps_all_ ? logits_.offset(tile * kHeadColumns * rows_) : logits_;
  }

 private:
  // Turns exponentials into weight p. If the row's target is ignored: returns false and writes
  // zero.
  bool weigh(int64_t tile, int64_t r, Plane<S> weight, Span<S> row) const {
    if (target_of(r) == kIgnoredTarget) {
      clear_row<S>(row, 0, columns_of(tile));
      return false;
    }
    probabilities_times_weight<S>(row, shifts_[r * tiles() + tile], log_sum_exp(sums_[r]), weight,
                                  columns_of(tile), row);
    return true;
  }

  Context& context_;
  int64_t vocabulary_;
  bool keeps_all_;
  Span<S> logits_;                        // tile after tile, [rows, columns] each
  Plane<S>* shifts_;                      // [rows][tiles]
  ShiftedSum<S>* sums_;                   // [rows]
  Span<S> target_logits_;                 // [rows]
  std::vector<Span<S>> rows_of_threads_;  // [columns] each, if exponentials are not kept
  View<const int32_t> targets_;
  int64_t n_ = 0, first_ = 0, rows_ = 0;
};

}  // namespace saddle::ops
