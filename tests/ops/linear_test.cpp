// The linear map refuses a different number of workers, whose strides would read past the end.
#include "ops/linear.h"

#include <gtest/gtest.h>

#include "ops/tensors.h"
#include "support/expect_error.h"
#include "support/test_context.h"

namespace saddle::ops {
namespace {

TEST(Linear, RefusesOtherNumbersOfWorkers) {
  Context context = test_context(1);
  const auto tensor = [&](int64_t workers, int64_t rows, int64_t cols) {
    return random_tensor<float>(context, workers, rows, cols, 1);
  };
  auto x = tensor(2, 3, 4), weight = tensor(1, 5, 4), y = tensor(2, 3, 5), dx = tensor(2, 3, 4);
  auto dweight = tensor(2, 5, 4), dy = tensor(1, 3, 5);
  expect_error(ErrorKind::kInternal, {"linear_forward", "the weight"},
               [&] { linear_forward<float>(context, x.view(), weight.view(), y.view()); });
  expect_error(ErrorKind::kInternal, {"linear_adjoint_input", "the weight"}, [&] {
    linear_adjoint_input<float>(context, y.view(), weight.view(), Store::kWrite, dx.view());
  });
  expect_error(ErrorKind::kInternal, {"linear_adjoint_weight", "dy"},
               [&] { linear_adjoint_weight<float>(context, x.view(), dy.view(), dweight.view()); });
}

}  // namespace
}  // namespace saddle::ops
