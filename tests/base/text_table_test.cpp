#include "base/text_table.h"

#include <gtest/gtest.h>

namespace saddle {
namespace {

TEST(TextTable, AlignsColumns) {
  TextTable table;
  table.add({"method", "s", "memory"});
  table.add({"a", "1.25", "3"});
  table.add({"longer than", "", "12"});
  EXPECT_EQ(table.text(),
            "  method          s  memory\n"
            "  a            1.25       3\n"
            "  longer than            12\n");
}

TEST(TextTable, HasAMinimumColumnWidthAndRowsOfAnyLength) {
  TextTable table(4);
  table.add({"a"});
  table.add({"b", "1"});
  EXPECT_EQ(table.text(), "  a\n  b        1\n");
}

TEST(TextTable, ACellStaysOnOneLineWhateverItsText) {
  TextTable table;
  table.add({"run\n\x1b[2J", "1"});
  table.add({"b\xFF", "12"});
  EXPECT_EQ(table.text(), "  run\\x0a\\x1b[2J   1\n  b\\xff           12\n");
}

}  // namespace
}  // namespace saddle
