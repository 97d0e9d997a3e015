// Tensors, arenas and copies between device and host.
#include "backend/tensor.h"

#include <gtest/gtest.h>

#include <numeric>

namespace saddle::backend {
namespace {

using num::Dual;

TEST(Tensor, IsContiguousZeroAndInPlanes) {
  Context context(1);
  const Tensor<Dual<float>> tensor(context, 2, 3, 5);
  EXPECT_EQ(tensor.bytes(), 2 * 2 * 3 * 5 * 4);
  EXPECT_TRUE(tensor.view().same_shape(2, 3, 5));
  EXPECT_EQ(tensor.view().plane_stride(), 30);
  for (int p = 0; p < 2; ++p) {
    std::vector<float> host(30, 1);
    copy_to_host<Dual<float>>(context, tensor, p, host.data());
    EXPECT_EQ(host, std::vector<float>(30, 0));
  }
}

TEST(Copies, MoveOnePlaneOfAnyView) {
  Context context(1);
  const Tensor<Dual<double>> tensor(context, 2, 4, 6);
  const View<Dual<double>> part = tensor.view().row_range(1, 2).column_range(2, 3);
  std::vector<double> numbers(part.size());
  std::iota(numbers.begin(), numbers.end(), 1);
  copy_from_host<Dual<double>>(context, numbers.data(), 1, part);
  std::vector<double> back(part.size());
  copy_to_host<Dual<double>>(context, part, 1, back.data());
  EXPECT_EQ(back, numbers);
  EXPECT_EQ(part.row(1, 1).load(2).t, 12);
  EXPECT_EQ(part.row(1, 1).load(2).v, 0);
  // Nothing was written outside the view.
  std::vector<double> all(48);
  copy_to_host<Dual<double>>(context, tensor, 1, all.data());
  EXPECT_EQ(std::accumulate(all.begin(), all.end(), 0.0), 12 * 13 / 2);
  EXPECT_EQ(to_host<Dual<double>>(context, part), std::vector<double>(12, 0));
}

class ArenaTest : public ::testing::Test {
 protected:
  ArenaTest() {
    matrix_ = layout_.add_matrix("matrix", 3, 5);
    first_ = layout_.add_matrix("first", 4, 16);  // 64: the next one follows without padding
    second_ = layout_.add_matrix("second", 2, 16);
    vector_ = layout_.add_vector("vector", 7);
  }
  tensor::Layout layout_;
  int matrix_, first_, second_, vector_;
  Context context_{1};
};

TEST_F(ArenaTest, ViewsLieWhereTheLayoutPutsThem) {
  const Arena<Dual<float>> arena(context_, layout_, 3);
  EXPECT_EQ(arena.workers(), 3);
  EXPECT_TRUE(arena.all().same_shape(3, 1, layout_.padded_size()));
  for (const int slot : {matrix_, first_, second_, vector_}) {
    const View<Dual<float>> view = arena.view(slot);
    const tensor::Slot& at = layout_.slot(slot);
    ASSERT_TRUE(view.same_shape(3, at.rows, at.cols));
    for (int64_t n = 0; n < 3; ++n) {
      const auto value = static_cast<float>(100 * slot + n + 1);
      view.row(n, at.rows - 1).store(at.cols - 1, {value, -value});
      const Dual<float> found = arena.all().row(n, 0).load(at.offset + at.size() - 1);
      EXPECT_EQ(found.v, value);
      EXPECT_EQ(found.t, -value);
    }
  }
}

TEST_F(ArenaTest, NeighboursWithoutPaddingAreOneMatrix) {
  const Arena<float> arena(context_, layout_, 2);
  arena.view(second_).row(1, 1).store(15, 8);
  const View<float> both = arena.rows_from(first_, 6);
  EXPECT_TRUE(both.same_shape(2, 6, 16));
  EXPECT_EQ(both.row(1, 5).load(15), 8);
}

TEST_F(ArenaTest, PaddingIsZero) {
  const Arena<float> arena(context_, layout_, 1);
  for (size_t slot = 0; slot < layout_.slots().size(); ++slot) {
    const View<float> view = arena.view(static_cast<int>(slot));
    const std::vector<float> ones(view.size(), 1);
    copy_from_host<float>(context_, ones.data(), 0, view);
  }
  const std::vector<float> all = to_host<float>(context_, arena.all());
  EXPECT_EQ(std::accumulate(all.begin(), all.end(), 0.0), static_cast<double>(layout_.size()));
}

}  // namespace
}  // namespace saddle::backend
