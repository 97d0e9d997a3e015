#include "data/part_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/child_process.h"
#include "support/temporary_directory.h"

namespace saddle::data {
namespace {

TEST(PartFile, MayLieInTheCurrentDirectory) {
  const TemporaryDirectory directory;
  ChildProcess child([&] {
    std::filesystem::current_path(directory.path());
    PartFile part("file");
    part.restart({});
    part.append("content");
    part.publish();
    return 0;
  });
  EXPECT_EQ(child.exit_status(), 0);
  EXPECT_EQ(read_file(directory / "file"), "content");
  EXPECT_FALSE(std::filesystem::exists(directory / ".file.part.json"));
}

}  // namespace
}  // namespace saddle::data
