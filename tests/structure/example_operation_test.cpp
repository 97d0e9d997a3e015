// The table of files and lines in docs/add_an_operation.md against the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>

#include "base/files.h"

namespace saddle {
namespace {

TEST(ExampleOperation, HasTheFilesAndLinesThatItsPageLists) {
  const Path root = SADDLE_SOURCE_DIR;
  const std::string page = read_file(root / "docs/add_an_operation.md");
  const std::regex row(R"(\| \[[^\]]+\]\(\.\./(tests/example_operation/[^)]+)\) \| (\d+) \|)");
  int64_t files = 0, all_lines = 0;
  for (auto match = std::sregex_iterator(page.begin(), page.end(), row);
       match != std::sregex_iterator(); ++match) {
    const std::string text = read_file(root / (*match)[1].str());
    const auto lines = std::count(text.begin(), text.end(), '\n');
    EXPECT_EQ(std::to_string(lines), (*match)[2].str()) << (*match)[1];
    ++files;
    all_lines += lines;
  }
  // kernels.h stands for the lines in the lists of src/ops.
  const std::filesystem::directory_iterator folder(root / "tests/example_operation");
  EXPECT_EQ(files + 1, std::distance(begin(folder), end(folder)));
  EXPECT_NE(page.find("That makes " + std::to_string(all_lines + 3) + " lines"), std::string::npos);
}

}  // namespace
}  // namespace saddle
