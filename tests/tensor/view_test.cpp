#include "tensor/view.h"

#include <gtest/gtest.h>

#include <vector>

#include "num/number_types.h"
#include "support/expect_error.h"

namespace saddle::tensor {
namespace {

using num::Dual;
using num::Jet;

// [2 workers, 3 rows, 4 columns] in two planes; each number encodes its place.
class ViewTest : public ::testing::Test {
 protected:
  ViewTest() {
    for (size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<float>(i);
  }
  std::vector<float> memory_ = std::vector<float>(48);
  View<Dual<float>> view_{memory_.data(), 2, 3, 4, 12, 4, 24};
};

TEST_F(ViewTest, FindsNumbersByWorkerRowAndColumn) {
  const Dual<float> x = view_.row(1, 2).load(3);
  EXPECT_EQ(x.v, 12 + 8 + 3);
  EXPECT_EQ(x.t, 24 + 12 + 8 + 3);
  EXPECT_EQ(view_.size(), 24);
  EXPECT_TRUE(view_.same_shape(2, 3, 4));
  EXPECT_FALSE(view_.same_shape(2, 4, 3));
  EXPECT_FALSE(view_.empty());
  EXPECT_TRUE(View<float>().empty());
}

TEST_F(ViewTest, RangesKeepTheStridesOfTheWhole) {
  const View<Dual<float>> part = view_.worker_range(1, 1).row_range(1, 2).column_range(2, 2);
  EXPECT_TRUE(part.same_shape(1, 2, 2));
  EXPECT_EQ(part.row_stride(), 4);
  EXPECT_EQ(part.row(0, 1).load(1).v, 12 + 8 + 3);
  EXPECT_EQ(part.row(0, 1).load(1).t, 24 + 12 + 8 + 3);
}

TEST_F(ViewTest, StoresAndAddsInEveryPlane) {
  view_.row(0, 1).store(2, {100, 200});
  EXPECT_EQ(memory_[6], 100);
  EXPECT_EQ(memory_[30], 200);
  view_.row(0, 1).add(2, {1, 2});
  EXPECT_EQ(memory_[6], 101);
  EXPECT_EQ(memory_[30], 202);
  EXPECT_EQ(memory_[5], 5);
  EXPECT_EQ(memory_[7], 7);
}

TEST_F(ViewTest, APlaneIsATensorOfOrdinaryNumbers) {
  const View<float> tangents = view_.plane(1);
  EXPECT_TRUE(tangents.same_shape(2, 3, 4));
  EXPECT_EQ(tangents.row(1, 0).load(1), 24 + 12 + 1);
  std::vector<double> memory(6);
  const View<Jet<double>> jets(memory.data(), 1, 1, 2, 2, 2, 2);
  jets.row(0, 0).store(1, {1, 2, 3});
  EXPECT_EQ(jets.plane(2).row(0, 0).load(1), 3);
}

TEST_F(ViewTest, RepeatsOneWorker) {
  const View<Dual<float>> repeated = view_.worker_range(1, 1).repeat(3);
  EXPECT_TRUE(repeated.same_shape(3, 3, 4));
  for (int64_t n = 0; n < 3; ++n) EXPECT_EQ(repeated.row(n, 2).load(3).t, 24 + 12 + 8 + 3);
  expect_error(ErrorKind::kInternal, {"one worker"}, [&] { view_.repeat(2); });
}

TEST_F(ViewTest, AWritableViewConvertsToAReadOnlyView) {
  const View<const Dual<float>> reading = view_;
  EXPECT_EQ(reading.row(0, 0).load(1).t, 25);
  const Span<const Dual<float>> span = view_.row(0, 0);
  EXPECT_EQ(span.load(1).v, 1);
  EXPECT_EQ(span.offset(2).load(1).v, 3);
}

TEST_F(ViewTest, EmptyRangesAreAllowedAndWideOnesAreNot) {
  EXPECT_EQ(view_.row_range(3, 0).rows(), 0);
  expect_error(ErrorKind::kInternal, {"rows"}, [&] { view_.row_range(2, 2); });
  expect_error(ErrorKind::kInternal, {"rows"}, [&] { view_.row_range(-1, 1); });
  expect_error(ErrorKind::kInternal, {"rows"}, [&] { view_.row_range(0, -1); });
  expect_error(ErrorKind::kInternal, {"columns"}, [&] { view_.column_range(4, 1); });
  expect_error(ErrorKind::kInternal, {"columns"}, [&] { view_.column_range(-1, 2); });
  expect_error(ErrorKind::kInternal, {"workers"}, [&] { view_.worker_range(0, 3); });
  expect_error(ErrorKind::kInternal, {"plane"}, [&] { view_.plane(2); });
  expect_error(ErrorKind::kInternal, {"plane"}, [&] { view_.plane(-1); });
}

}  // namespace
}  // namespace saddle::tensor
