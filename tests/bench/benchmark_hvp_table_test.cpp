// The selected row of the benchmark of quadratic forms, and its table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/benchmark_hvp.h"

namespace saddle::bench {
namespace {

HvpRow measured_row(double tokens_per_second, int64_t peak_memory_bytes) {
  HvpRow row;
  row.measurement = {{1.0}, {0.5}, peak_memory_bytes};
  row.tokens_per_second_and_direction = tokens_per_second;
  return row;
}

TEST(HvpTableRows, OverNinetyPercentOfMemoryIsListedAndNotSelected) {
  HvpTable table;
  add_row(table, measured_row(10, 900), 1000);
  add_row(table, measured_row(30, 901), 1000);  // the fastest, but over 900
  EXPECT_EQ(table.selected, 0U);
  add_row(table, measured_row(20, 100), 1000);
  EXPECT_EQ(table.selected, 2U);
  add_row(table, measured_row(15, 100), 1000);
  HvpRow failed;
  failed.failure = "killed";
  add_row(table, failed, 1000);
  EXPECT_EQ(table.selected, 2U);

  ASSERT_EQ(table.rows.size(), 5U);
  EXPECT_FALSE(table.rows[0].over_memory);
  EXPECT_TRUE(table.rows[1].over_memory);
  const std::string text = hvp_table(table, 1);
  EXPECT_THAT(text, ::testing::HasSubstr("30.0"));
  EXPECT_THAT(text, ::testing::HasSubstr("over 90% of memory"));
  EXPECT_THAT(text, ::testing::HasSubstr("killed"));
}

TEST(HvpTableRows, NothingIsSelectedIfAllExceedTheMemory) {
  HvpTable table;
  add_row(table, measured_row(10, 901), 1000);
  EXPECT_FALSE(table.selected);
}

}  // namespace
}  // namespace saddle::bench
