#include "tensor/layout.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace saddle::tensor {
namespace {

TEST(Layout, PlacesTensorsInOrderAtAlignedOffsets) {
  Layout layout;
  EXPECT_EQ(layout.add_matrix("a", 3, 7), 0);   // 21 numbers
  EXPECT_EQ(layout.add_vector("b", 64), 1);     // exactly one aligned piece
  EXPECT_EQ(layout.add_matrix("c", 13, 5), 2);  // 65: one more than a piece
  EXPECT_EQ(layout.add_vector("d", 1), 3);
  EXPECT_EQ(layout.slot(0).offset, 0);
  EXPECT_EQ(layout.slot(1).offset, 64);
  EXPECT_EQ(layout.slot(2).offset, 128);
  EXPECT_EQ(layout.slot(3).offset, 256);
  EXPECT_EQ(layout.size(), 21 + 64 + 65 + 1);
  EXPECT_EQ(layout.padded_size(), 320);
  for (const Slot& slot : layout.slots()) EXPECT_EQ(slot.offset % Layout::kAlignment, 0);
}

TEST(Layout, KeepsNamesShapesAndKinds) {
  Layout layout;
  layout.add_matrix("embedding.weight", 10, 4);
  layout.add_vector("norm.weight", 4);
  ASSERT_NE(layout.find("norm.weight"), nullptr);
  EXPECT_EQ(layout.find("norm.weight")->rows, 1);
  EXPECT_EQ(layout.find("norm.weight")->cols, 4);
  EXPECT_TRUE(layout.find("norm.weight")->is_vector);
  EXPECT_FALSE(layout.find("embedding.weight")->is_vector);
  EXPECT_EQ(layout.find("norm"), nullptr);
}

TEST(Layout, CountsBeyondThirtyTwoBits) {
  Layout layout;
  layout.add_matrix("large", int64_t{1} << 20, int64_t{1} << 13);
  layout.add_vector("after", 3);
  EXPECT_EQ(layout.slot(1).offset, int64_t{1} << 33);
  EXPECT_EQ(layout.size(), (int64_t{1} << 33) + 3);
}

TEST(Layout, RefusesEmptyTensorsAndNamesUsedTwice) {
  Layout layout;
  layout.add_vector("gain", 4);
  expect_error(ErrorKind::kInternal, {"gain", "twice"}, [&] { layout.add_matrix("gain", 2, 2); });
  expect_error(ErrorKind::kInternal, {"none", "[0, 3]"}, [&] { layout.add_matrix("none", 0, 3); });
  expect_error(ErrorKind::kInternal, {"none"}, [&] { layout.add_vector("none", -1); });
  EXPECT_EQ(layout.slots().size(), 1u);
}

}  // namespace
}  // namespace saddle::tensor
