#include "ops/orthogonalize.h"

#include "ops/orthogonalize_rows.h"
#include "ops/reduce.h"

namespace saddle::ops {

template <class T>
void orthogonalize(Context& context, View<const T> basis, View<T> y) {
  const int64_t count = basis.workers();
  check_shape(basis.rows() == 1 && y.same_shape(1, 1, basis.cols()), "orthogonalize", "y");
  backend::Workspace::Scope scope(context.workspace());
  const View<double> coefficients = scratch_view<double>(scope, count, 1, 1);
  dot<T>(context, basis, View<const T>(y).repeat(count), coefficients);
  const int64_t blocks = (y.cols() + kProjectedColumns - 1) / kProjectedColumns;
  for_rows(context,
           {"orthogonalize", 1, blocks, kProjectedColumns,
            (count + 2) * kProjectedColumns * bytes_of<T>()},
           SubtractCombination<T>{coefficients, basis, y});
}

template decltype(orthogonalize<float>) orthogonalize<float>;
template decltype(orthogonalize<double>) orthogonalize<double>;

}  // namespace saddle::ops
