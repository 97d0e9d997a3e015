#include "ops/cached_attention.h"

#include <cmath>

#include "ops/softmax_row.h"

namespace saddle::ops {
namespace {

constexpr int64_t kRows = 128;  // query rows whose scores are held at a time

}  // namespace

template <class T>
void cached_attention_forward(Context& context, int64_t heads, View<const T> q, View<const T> k,
                              View<const T> v, View<T> o) {
  check_shape(heads > 0 && q.cols() % heads == 0 && q.rows() <= k.rows(), "cached_attention", "q");
  check_shape(k.same_shape(q.workers(), k.rows(), q.cols()) &&
                  v.same_shape(k.workers(), k.rows(), k.cols()),
              "cached_attention", "k or v");
  check_shape(o.same_shape(q.workers(), q.rows(), q.cols()), "cached_attention", "o");
  const int64_t size = q.cols() / heads;
  const int64_t before = k.rows() - q.rows();
  const int64_t scores = std::min(kRows, q.rows()) * k.rows();
  const auto scale = static_cast<T>(1.0 / std::sqrt(static_cast<double>(size)));
  backend::Workspace::Scope scope(context.workspace());
  const Span<T> all = scratch<T>(scope, context.threads() * scores);

  backend::parallel_tasks(context, q.workers() * heads, [&](int64_t task, int thread) {
    const int64_t n = task / heads;
    const int64_t column = task % heads * size;
    const Span<T> p = all.offset(thread * scores);
    const Span<const T> keys = k.row(n, 0).offset(column);
    const Span<const T> values = v.row(n, 0).offset(column);
    for (int64_t first = 0; first < q.rows(); first += kRows) {
      const int64_t rows = std::min(kRows, q.rows() - first);
      const int64_t seen = before + first + rows;  // keys that the last of these rows sees
      product<T>(context, Transpose::kNo, Transpose::kYes, rows, seen, size, scale,
                 q.row(n, first).offset(column), q.row_stride(), keys, k.row_stride(), 0, p, seen);
      for (int64_t r = 0; r < rows; ++r) {
        const Span<T> row = p.offset(r * seen);
        const int64_t visible = before + first + r + 1;
        softmax_row<T>(row, visible, row);
        clear_row<T>(row, visible, seen);
      }
      product<T>(context, Transpose::kNo, Transpose::kNo, rows, size, seen, 1, p, seen, values,
                 v.row_stride(), 0, o.row(n, first).offset(column), o.row_stride());
    }
  });
}

#define SADDLE_INSTANTIATE(T)                                                                \
  template void cached_attention_forward<T>(Context&, int64_t, View<const T>, View<const T>, \
                                            View<const T>, View<T>);
SADDLE_INSTANTIATE(float)
SADDLE_INSTANTIATE(double)
#undef SADDLE_INSTANTIATE

}  // namespace saddle::ops
