// Row bodies of ops/output_head.h and ops/output_head_second_order.h, over a tile of the logits of
// a chunk of rows of one worker. Row r of the loop is row first + r of that worker.
#pragma once

#include "ops/cross_entropy_row.h"
#include "ops/second_order_rows.h"

namespace saddle::ops {

// The chunk, as all its bodies see it.
template <class S>
struct ChunkRows {
  tensor::View<const int32_t> targets;  // [1, rows, 1]
  Plane<S>* shifts = nullptr;           // [rows][tiles]
  ShiftedSum<S>* sums = nullptr;        // [rows]
  Span<S> target_logits{};              // [rows]
  int64_t tiles = 0;

  constexpr int64_t target(int64_t r) const { return targets.row(0, r).load(0); }
};

// A tile: columns [from, from + columns) of the logits, [rows][columns].
template <class S>
struct LogitTile {
  Span<S> data;
  int64_t index = 0;
  int64_t from = 0;
  int64_t columns = 0;

  constexpr Span<S> row(int64_t r) const { return data.offset(r * columns); }
};

// Sums the exponentials of a tile, which replace the logits if `keep`; those that are stored as
// Bf16 stay, because the exponentials would be rounded.
template <class L>
struct TileExponentials {
  using S = num::Arithmetic<L>;
  ChunkRows<S> chunk;
  LogitTile<L> tile;
  bool keep;

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t r) const {
    const Span<L> row = tile.row(r);
    const int64_t target = chunk.target(r) - tile.from;
    // The lane that owns the logit reads it before it writes the exponential.
    const bool mine =
        target >= 0 && target < tile.columns && target % Group::kCount == group.index();
    if (mine) chunk.target_logits.store(r, row.load(target));
    const ShiftedSum<S> part = sum(group, row);
    if (!group.first()) return;
    chunk.shifts[r * chunk.tiles + tile.index] = part.shift;
    chunk.sums[r] = tile.index == 0 ? part : merge(chunk.sums[r], part);
  }

  template <class Group>
  constexpr ShiftedSum<S> sum(Group group, Span<L> row) const {
    if constexpr (std::is_same_v<L, S>) {
      if (keep) return exponentials<S>(group, row, tile.columns, row);
    }
    return sum_exponentials<L>(group, row, tile.columns, [](int64_t, S) {});
  }
};

template <class S>
struct ChunkLosses {
  ChunkRows<S> chunk;
  tensor::View<S> losses;  // [1, rows, 1]: written

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t r) const {
    if (!group.first()) return;
    const bool ignored = chunk.target(r) == kIgnoredTarget;
    losses.row(0, r).store(
        0,
        ignored ? S{} : cross_entropy<S>(log_sum_exp(chunk.sums[r]), chunk.target_logits.load(r)));
  }
};

// Turns the exponentials of a tile (Bf16: its logits) into dz, or with `probabilities` into
// weight p; 0 in rows whose target is ignored.
template <class L>
struct TileGradient {
  using S = num::Arithmetic<L>;
  ChunkRows<S> chunk;
  LogitTile<L> tile;
  tensor::View<const double> weight;  // [1, 1, 1]
  bool probabilities;

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t r) const {
    const Span<L> row = tile.row(r);
    const int64_t target = chunk.target(r);
    if (target == kIgnoredTarget) return clear_row<L>(group, row, 0, tile.columns);
    const Plane<S> shift = chunk.shifts[r * chunk.tiles + tile.index];
    if constexpr (std::is_same_v<L, S>) {
      write(group, Span<const S>(row), shift, r, row);
    } else {
      write(group, ExponentialsOf<L>{row, shift}, shift, r, row);
    }
  }

  template <class Group, class E>
  constexpr void write(Group group, E e, Plane<S> shift, int64_t r, Span<L> row) const {
    cross_entropy_row_adjoint<L>(group, e, shift, log_sum_exp(chunk.sums[r]),
                                 static_cast<Plane<S>>(weight.row(0, 0).load(0)),
                                 probabilities ? -1 : chunk.target(r) - tile.from, tile.columns,
                                 row);
  }
};

// bf16 autocast over numbers that are stored whole: rounds the values of a tile's logits.
template <class S>
struct TileRound {
  LogitTile<S> tile;

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t r) const {
    const Span<S> row = tile.row(r);
    SADDLE_INDEPENDENT
    for (int64_t c = group.index(); c < tile.columns; c += Group::kCount) {
      row.store(c, num::with_value_rounded_to_bf16(row.load(c)));
    }
  }
};

// For one row and direction, with w p in place of p: sum p z' and sum p z'^2.
struct Moments {
  double first = 0;
  double second = 0;
};

// Adds the moments of some columns of a tile; z' [rows][columns].
template <class T>
struct TileMoments {
  LogitTile<T> p;
  int64_t first = 0;  // of the tile's columns
  int64_t columns = 0;
  const T* z_t = nullptr;
  Moments* moments = nullptr;  // [rows]: accumulated, or written if `begins`
  bool begins = false;

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t r) const {
    constexpr int64_t kBlock = 512 * Group::kCount;
    const T* probability = p.row(r).data + first;
    const T* z = z_t + r * columns;
    double sum1 = 0, sum2 = 0;
    for (int64_t begin = 0; begin < columns; begin += kBlock) {
      const int64_t end = columns < begin + kBlock ? columns : begin + kBlock;
      T part1{}, part2{};
      SADDLE_INDEPENDENT
      for (int64_t i = begin + group.index(); i < end; i += Group::kCount) {
        const T weighted = probability[i] * z[i];
        part1 += weighted;
        part2 += weighted * z[i];
      }
      sum1 += static_cast<double>(part1);
      sum2 += static_cast<double>(part2);
    }
    sum1 = group.sum(sum1);
    sum2 = group.sum(sum2);
    if (!group.first()) return;
    const Moments before = begins ? Moments{} : moments[r];
    moments[r] = {before.first + sum1, before.second + sum2};
  }
};

// The term of each row along one direction, 0 where the target is ignored.
template <class T>
struct OutputHeadTerms {
  ChunkRows<T> chunk;
  double weight = 0;
  const Moments* moments = nullptr;
  const T* back = nullptr;        // [rows][C]: w p E'
  tensor::View<const T> x_t;      // [1, rows, C]
  tensor::View<const T> table_t;  // [1, V, C]
  tensor::View<double> terms;     // [1, rows, 1]: written

  template <class Group>
  constexpr void operator()(Group group, int64_t, int64_t r) const {
    const int64_t target = chunk.target(r);
    double term = 0;
    if (target != kIgnoredTarget) {
      const int64_t cols = x_t.cols();
      const T* x_row = x_t.row(0, r).data;
      const double linear =
          group.sum(lane_dot(group, back + r * cols, x_row, cols) -
                    weight * lane_dot(group, table_t.row(0, target).data, x_row, cols));
      const Moments sum = moments[r];
      term = 2 * linear + sum.second - sum.first * sum.first / weight;
    }
    if (group.first()) terms.row(0, r).store(0, term);
  }
};

}  // namespace saddle::ops
