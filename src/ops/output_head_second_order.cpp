#include "ops/output_head_second_order.h"

#include "ops/output_head_chunk.h"

namespace saddle::ops {
namespace {

// Columns of z' at a time: few enough to be in the cache when they are summed.
constexpr int64_t kColumns = 960;
static_assert(kOutputHeadColumns % kColumns == 0);

// Room for one direction.
template <class T>
struct Room {
  Room(backend::Workspace::Scope& scope, int64_t rows, int64_t cols, int64_t vocabulary)
      : z_t(scratch<T>(scope, rows * std::min(kColumns, vocabulary))),
        back(scratch<T>(scope, rows * cols)),
        moments(scope.take<Moments>(rows)) {}

  Span<T> z_t;       // some columns of z'
  Span<T> back;      // [rows, C]: w p E'
  Moments* moments;  // [rows]
};

// Moments and w p E' of all tiles of a chunk along one direction. x, x_t [1, rows, C].
template <class T>
void sweep_tiles(Context& context, const OutputHeadChunk<T>& chunk, View<const T> x,
                 View<const T> table, View<const T> x_t, View<const T> table_t,
                 const Room<T>& room) {
  const int64_t rows = x.rows();
  const int64_t cols = x.cols();
  for (int64_t i = 0; i < chunk.tiles(); ++i) {
    const LogitTile<T> p = chunk.tile(i);
    for (int64_t part = 0; part < p.columns; part += kColumns) {
      const int64_t width = std::min(kColumns, p.columns - part);
      const int64_t row = p.from + part;
      product<T>(context, Transpose::kNo, Transpose::kYes, rows, width, cols, 1, x_t.row(0, 0),
                 x_t.row_stride(), table.row(0, row), table.row_stride(), 0, room.z_t, width);
      product<T>(context, Transpose::kNo, Transpose::kYes, rows, width, cols, 1, x.row(0, 0),
                 x.row_stride(), table_t.row(0, row), table_t.row_stride(), 1, room.z_t, width);
      for_rows(context, {"output_head_moments", 1, rows, width, 2 * width * bytes_of<T>()},
               TileMoments<T>{p, part, width, room.z_t.data, room.moments, row == 0});
    }
    product<T>(context, Transpose::kNo, Transpose::kNo, rows, cols, p.columns, 1, p.data, p.columns,
               table_t.row(0, p.from), table_t.row_stride(), i == 0 ? 0 : 1, room.back, cols);
  }
}

}  // namespace

template <class T>
void output_head_second_order(Context& context, View<const T> x, View<const T> table,
                              View<const int32_t> targets, double weight, View<const T> x_t,
                              View<const T> table_t, Forms forms, bool round_logits) {
  constexpr const char* kName = "output_head_second_order";
  const int64_t cols = x.cols();
  const int64_t directions = x_t.workers();
  check_shape(table.same_shape(1, table.rows(), cols), kName, "the table");
  check_shape(targets.same_shape(1, x.rows(), 1), kName, "targets");
  check_shape(x_t.same_shape(directions, x.rows(), cols), kName, "x_t");
  check_shape(table_t.same_shape(directions, table.rows(), cols), kName, "table_t");
  check_shape(forms.same_shape(directions, 1, 1), kName, "forms");
  backend::Workspace::Scope scope(context.workspace());
  const int64_t held = std::min(x.rows(), kOutputHeadRows);
  OutputHeadChunk<T> chunk(context, scope, held, table.rows(), true, round_logits);
  const Room<T> room(scope, held, cols, table.rows());
  const View<double> terms = scratch_view<double>(scope, directions, x.rows(), 1);
  const View<double> device_weight = scratch_view<double>(scope, 1, 1, 1);
  backend::copy_from_host<double>(context, &weight, 0, device_weight);

  for (int64_t first = 0; first < x.rows(); first += held) {
    const int64_t rows = std::min(held, x.rows() - first);
    const View<const T> x_rows = x.row_range(first, rows);
    chunk.begin(targets, 0, first, rows);
    chunk.make_exponentials(x, table);
    chunk.make_probabilities(device_weight);
    for (int64_t g = 0; g < directions; ++g) {
      const View<const T> x_t_rows = x_t.worker_range(g, 1).row_range(first, rows);
      const View<const T> table_g = table_t.worker_range(g, 1);
      sweep_tiles<T>(context, chunk, x_rows, table, x_t_rows, table_g, room);
      for_rows(context, {kName, 1, rows, cols, 3 * cols * bytes_of<T>()},
               OutputHeadTerms<T>{chunk.rows(), weight, room.moments, room.back.data, x_t_rows,
                                  table_g, terms.worker_range(g, 1).row_range(first, rows)});
    }
  }
  add_sum<double>(context, terms, forms);
}

template decltype(output_head_second_order<float>) output_head_second_order<float>;
template decltype(output_head_second_order<double>) output_head_second_order<double>;

}  // namespace saddle::ops
