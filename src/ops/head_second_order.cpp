#include "ops/head_second_order.h"

#include "ops/head_chunk.h"
#include "ops/second_order.h"

namespace saddle::ops {
namespace {

// For one row and direction, with w p in place of p: sum p z' and sum p z'^2.
struct Moments {
  double first = 0;
  double second = 0;
};

template <class T>
Moments moments(const T* p, const T* z_t, int64_t count) {
  constexpr int64_t kBlock = 512;
  Moments sum;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(count, begin + kBlock);
    T first{}, second{};
    SADDLE_INDEPENDENT
    for (int64_t i = begin; i < end; ++i) {
      const T weighted = p[i] * z_t[i];
      first += weighted;
      second += weighted * z_t[i];
    }
    sum.first += static_cast<double>(first);
    sum.second += static_cast<double>(second);
  }
  return sum;
}

// Columns of z' at a time: few enough to be in the cache when they are summed.
constexpr int64_t kColumns = 960;
static_assert(kHeadColumns % kColumns == 0);

// Room for one direction.
template <class T>
struct Room {
  Room(backend::Workspace::Scope& scope, int64_t rows, int64_t cols, int64_t vocabulary)
      : z_t(scratch<T>(scope, rows * std::min(kColumns, vocabulary))),
        back(scratch<T>(scope, rows * cols)),
        sums(scope.take<Moments>(rows)) {}

  Span<T> z_t;    // some columns of z'
  Span<T> back;   // [rows, C]: w p E'
  Moments* sums;  // [rows]
};

}  // namespace

template <class T>
void head_second_order(Context& context, View<const T> x, View<const T> table,
                       View<const int32_t> targets, double weight, View<const T> x_t,
                       View<const T> table_t, std::span<double> forms) {
  const int64_t cols = x.cols();
  const int64_t directions = x_t.workers();
  check_shape(x_t.same_shape(directions, x.rows(), cols), "head_second_order", "x_t");
  check_shape(table_t.same_shape(directions, table.rows(), cols), "head_second_order", "table_t");
  backend::Workspace::Scope scope(context.workspace());
  const int64_t held = std::min(x.rows(), kHeadRows);
  HeadChunk<T> chunk(context, scope, held, table.rows(), true);
  const Room<T> room(scope, held, cols, table.rows());

  for (int64_t first = 0; first < x.rows(); first += held) {
    const int64_t rows = std::min(held, x.rows() - first);
    chunk.begin(targets, 0, first, rows);
    chunk.make_exponentials(x, table);
    chunk.make_probabilities(static_cast<T>(weight));
    for (int64_t g = 0; g < directions; ++g) {
      std::fill_n(room.sums, rows, Moments{});
      for (int64_t tile = 0; tile < chunk.tiles(); ++tile) {
        const int64_t from = tile * kHeadColumns;
        const int64_t columns = chunk.columns_of(tile);
        const Span<T> p = chunk.tile_of(tile);
        for (int64_t part = 0; part < columns; part += kColumns) {
          const int64_t width = std::min(kColumns, columns - part);
          const int64_t row = from + part;
          product<T>(context, Transpose::kNo, Transpose::kYes, rows, width, cols, 1,
                     x_t.row(g, first), x_t.row_stride(), table.row(0, row), table.row_stride(), 0,
                     room.z_t, width);
          product<T>(context, Transpose::kNo, Transpose::kYes, rows, width, cols, 1,
                     x.row(0, first), x.row_stride(), table_t.row(g, row), table_t.row_stride(), 1,
                     room.z_t, width);
          for_rows(context, 1, rows, [&](int64_t, int64_t r) {
            const Moments sum =
                moments(p.data + r * columns + part, room.z_t.data + r * width, width);
            room.sums[r].first += sum.first;
            room.sums[r].second += sum.second;
          });
        }
        product<T>(context, Transpose::kNo, Transpose::kNo, rows, cols, columns, 1, p, columns,
                   table_t.row(g, from), table_t.row_stride(), tile == 0 ? 0 : 1, room.back, cols);
      }
      Terms terms(1, rows);
      for_rows(context, 1, rows, [&](int64_t, int64_t r) {
        if (chunk.target_of(r) == kIgnoredTarget) return;
        const T* x_row = x_t.row(g, first + r).data;
        const double linear =
            row_dot<T>(room.back.data + r * cols, x_row, cols) -
            weight * row_dot<T>(table_t.row(g, chunk.target_of(r)).data, x_row, cols);
        const Moments& sum = room.sums[r];
        terms.at(0, r) = 2 * linear + sum.second - sum.first * sum.first / weight;
      });
      terms.add_to(forms.subspan(g, 1));
    }
  }
}

template <class T>
int64_t head_second_order_scratch(int64_t rows, int64_t cols, int64_t vocabulary) {
  const int64_t held = std::min(rows, kHeadRows);
  return chunk_scratch<T>(held, vocabulary, true, 1) +
         scratch_bytes<T>(held * std::min(kColumns, vocabulary)) + scratch_bytes<T>(held * cols) +
         (held * static_cast<int64_t>(sizeof(Moments)) + 63) / 64 * 64;
}

#define SADDLE_INSTANTIATE(T)                                                                     \
  template void head_second_order<T>(Context&, View<const T>, View<const T>, View<const int32_t>, \
                                     double, View<const T>, View<const T>, std::span<double>);    \
  template int64_t head_second_order_scratch<T>(int64_t, int64_t, int64_t);
SADDLE_INSTANTIATE(float)
SADDLE_INSTANTIATE(double)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
