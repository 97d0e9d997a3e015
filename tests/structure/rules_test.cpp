// The whole tree follows each rule, and each rule detects a violation in a planted tree.
#include "structure/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "structure/planted_tree.h"

namespace saddle::structure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void expect_none(const std::vector<std::string>& found) {
  EXPECT_TRUE(found.empty()) << joined(found);
}

std::string lines(int64_t count) {
  std::string text;
  for (int64_t line = 0; line < count; ++line) text += "//\n";
  return text;
}

TEST(LongFiles, AreNotInTheTree) {
  expect_none(find_long_files(SADDLE_SOURCE_DIR));
}

TEST(LongFiles, AreFound) {
  const PlantedTree tree;
  tree.write("src/base/just.h", lines(kMaxLines));
  tree.write("src/base/over.h", lines(kMaxLines + 1));
  tree.write("tests/data/values.json", lines(kMaxLines + 1));
  EXPECT_THAT(find_long_files(tree.root()), ElementsAre(HasSubstr("src/base/over.h:601: has 601")));
}

TEST(TensorMemory, IsAccessedOnlyInTensorBackendAndOps) {
  expect_none(find_memory_access(SADDLE_SOURCE_DIR));
}

TEST(TensorMemory, AccessElsewhereIsFound) {
  const PlantedTree tree;
  const std::string call = "\nfloat* p = view.device_data();\n";
  tree.write("src/ops/add.cpp", call);
  tree.write("src/tensor/view.h", call);
  tree.write("src/backend/cpu/copy.cpp", call);
  tree.write("src/train/update.cpp", call);
  tree.write("apps/saddle/main.cpp", "view->device_data ();\n");
  tree.write("src/data/rows.cpp",
             "const float* p = view.row(0, 1).data;\n"
             "view.row(0, 1).store(3, 0.5f);\n"
             "const auto span = views[0]->row (worker(n), 1);\n"
             "const Json& line = table.row(std::min(0, 1));\n");
  EXPECT_THAT(find_memory_access(tree.root()),
              ElementsAre(HasSubstr("apps/saddle/main.cpp:1: "), HasSubstr("src/data/rows.cpp:1: "),
                          HasSubstr("src/data/rows.cpp:2: "), HasSubstr("src/data/rows.cpp:3: "),
                          HasSubstr("src/train/update.cpp:2: ")));
}

TEST(Scripts, AreAcceptedByBash) {
  expect_none(find_bad_scripts(SADDLE_SOURCE_DIR));
}

TEST(Scripts, WithErrorsAreFound) {
  const PlantedTree tree;
  tree.write("scripts/good.sh", "if true; then echo; fi\n");
  tree.write("scripts/bad one.sh", "if true; then echo\n");
  EXPECT_THAT(find_bad_scripts(tree.root()), ElementsAre(HasSubstr("scripts/bad one.sh:1: ")));
}

TEST(Links, OfTheDocumentationExist) {
  expect_none(find_dead_links(SADDLE_SOURCE_DIR));
}

TEST(Links, ToMissingFilesAreFound) {
  const PlantedTree tree;
  tree.write("README.md", "[a](docs/a.md) [b](https://example.org/b)\n[c](docs/c.md#top)\n");
  tree.write("docs/a.md", "[up](../README.md), [gone](gone.md)\n");
  EXPECT_THAT(find_dead_links(tree.root()),
              ElementsAre(HasSubstr("docs/a.md:1: links to gone.md"),
                          HasSubstr("README.md:2: links to docs/c.md")));
}

}  // namespace
}  // namespace saddle::structure
